import type { VNode } from 'preact';
import type { Visitor } from '../access/access.ts';
import { html, type Content } from './html.ts';
import { badge } from './elements.ts';
import { inZone } from './time-zone.ts';

/** The groups of the navigation, in order. The overview stands above them. */
const GROUPS = ['Investigate', 'Delivery', 'Administer'] as const;

export interface NavigationEntry {
  readonly label: string;
  readonly group?: (typeof GROUPS)[number];
  /** The lines of its icon, as the path of an SVG of 16 by 16. */
  readonly icon: string;
  /** What needs a person there, in a word or a number, and in a sentence; undefined if nothing does. */
  readonly needsPerson?: (visitor: Visitor) => Promise<Notice | undefined>;
}

export interface Notice {
  readonly kind: 'warn' | 'bad';
  readonly mark: string;
  readonly text: string;
}

export interface ShownEntry extends NavigationEntry {
  readonly path: string;
  readonly notice: Notice | undefined;
}

/** Entries beside the button for all others, where the screen is too narrow for a sidebar. */
const IN_BOTTOM_BAR = 4;

/** The sidebar: all pages by group, what needs a person, and the visitor. On a phone a bar at the bottom. */
export function navigation(entries: readonly ShownEntry[], path: string, visitor: Visitor): VNode {
  const link = (entry: ShownEntry) => linkOf(entry, path);
  return html`
    <header class="frame">
      <a class="brand" href="/" title="Overview">xiq-sink</a>
      <nav id="pages" popover aria-label="Pages">
        <ul>
          ${entries.filter(({ group }) => group === undefined).map(link)}
        </ul>
        ${GROUPS.map((group) => groupOf(group, entries.filter((entry) => entry.group === group).map(link)))}
        ${zoneSelect} ${visitor.session && logOut(visitor)}
      </nav>
      <nav class="bottom" aria-label="Most used pages">
        <ul>
          ${entries.slice(0, IN_BOTTOM_BAR).map(link)}
          <li>
            <button class="quiet" popovertarget="pages">${iconOf(ALL)}<span>All pages</span></button>
          </li>
        </ul>
      </nav>
    </header>
  `;
}

const ALL = 'M2 4h12M2 8h12M2 12h12';

const groupOf = (group: string, links: readonly VNode[]): Content =>
  links.length > 0 &&
  html`
    <h2>${group}</h2>
    <ul>
      ${links}
    </ul>
  `;

function linkOf({ path, label, icon, notice }: ShownEntry, current: string): VNode {
  return html`
    <li>
      <a
        href=${path}
        title=${notice?.text ?? label}
        aria-current=${isWithin(current, path) ? 'page' : undefined}
      >
        ${iconOf(icon)}<span>${label}</span>
        ${notice && badge(notice.kind, notice.mark)}
        ${notice && html`<span class="visually-hidden">${notice.text}</span>`}
      </a>
    </li>
  `;
}

const iconOf = (path: string): VNode => html`
  <svg viewBox="0 0 16 16" aria-hidden="true"><path d=${path} /></svg>
`;

/** time-zone.js adds the other zones, and keeps the choice. */
const zoneSelect = inZone(
  (zone) => html`
    <label class="time-zone">
      Time zone
      <select data-time-zones>
        <option value=${zone}>${zone}</option>
      </select>
    </label>
  `,
);

const logOut = ({ operator, role }: Visitor) => html`
  <form class="log-out" method="post" action="/logout">
    <span title=${`Role: ${role}`}>${operator.name}</span>
    <button class="quiet">Log out</button>
  </form>
`;

const isWithin = (path: string, entry: string) =>
  path === entry || (entry !== '/' && path.startsWith(`${entry}/`));
