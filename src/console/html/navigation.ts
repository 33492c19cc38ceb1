import type { VNode } from 'preact';
import type { Visitor } from '../access/access.ts';
import { html, type Content } from './html.ts';
import { badge } from './elements.ts';
import { inZone } from './time-zone.ts';

/** The groups of the navigation, in order. The overview stands above them. */
const GROUPS = ['Investigate', 'Delivery', 'Administer'] as const;

/** The lines of each icon, as the path of an SVG of 16 by 16. */
const ICONS = {
  access: 'M10.5 9a3.5 3.5 0 1 0-3.3-2.3L2 12v2h2.5v-1.5H6V11h1.5l1.8-1.8M11 5h.01',
  alerts: 'M4 11V7a4 4 0 018 0v4l1.5 1.5h-11zM6.5 14.5h3',
  certificate: 'M3 2h10v9H3zM5 5h6M5 8h4M6 11v4l2-1 2 1v-4',
  coverage: 'M2 3h12v11H2zM2 6.5h12M6 6.5V14M10 6.5V14',
  deliveries: 'M8 2v8M4.5 6.5L8 10l3.5-3.5M2 11v3h12v-3',
  destinations: 'M2 8h11M9 4l4 4-4 4',
  events: 'M5 4h9M5 8h9M5 12h9M2 4h.01M2 8h.01M2 12h.01',
  integrity: 'M8 1.5l5.5 2v4c0 3.5-2.5 5.7-5.5 7-3-1.3-5.5-3.5-5.5-7v-4zM5.5 8l2 2 3.5-4',
  'operator log': 'M4 2h8v12H4zM6.5 5.5h3M6.5 8h3M6.5 10.5h3',
  overview: 'M2 9l6-6 6 6M4 8v6h8V8',
  people: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.5-3 2.5-4.5 5.5-4.5s5 1.5 5.5 4.5',
  devices: 'M2 3h12v8H2zM5.5 14h5M8 11v3',
  quarantine: 'M8 2l6.5 11.5h-13zM8 6.5v3M8 11.5h.01',
  reports: 'M3 14V9M8 14V3M13 14V6',
  settings: 'M2 4.5h6M12 4.5h2M10 3v3M2 11.5h2M8 11.5h6M6 10v3',
  sources: 'M4.5 12.5a3 3 0 0 1 .3-6 4 4 0 0 1 7.6 1 2.5 2.5 0 0 1-.4 5z',
  subscriptions: 'M3 13a10 10 0 0 1 10-10M3 13a5.5 5.5 0 0 1 5.5-5.5M3.5 13h.01',
  system: 'M2 3h12v4H2zM2 9h12v4H2zM4.5 5h.01M4.5 11h.01',
  all: 'M2 4h12M2 8h12M2 12h12',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5L14 14',
} as const;

export interface NavigationEntry {
  readonly label: string;
  readonly group?: (typeof GROUPS)[number];
  readonly icon: keyof typeof ICONS;
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
            <button class="quiet" popovertarget="pages">${iconOf('all')}<span>All pages</span></button>
          </li>
        </ul>
      </nav>
    </header>
  `;
}

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

export const iconOf = (icon: keyof typeof ICONS): VNode => html`
  <svg viewBox="0 0 16 16" aria-hidden="true"><path d=${ICONS[icon]} /></svg>
`;

/** time-zone.ts adds the other zones, and keeps the choice. */
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
