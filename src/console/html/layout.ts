import type { VNode } from 'preact';
import type { Visitor } from '../access/access.ts';
import { ASSETS, IMPORT_MAP, modulesFor } from '../assets.ts';
import { html, type Content, type Page } from './html.ts';
import { withZone } from './time-zone.ts';
import { iconOf, navigation, type ShownEntry } from './navigation.ts';

function headOf(title: string, more: Content): VNode {
  return html`
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content="light dark" />
      <title>${title} · xiq-sink</title>
      ${more}
    </head>
  `;
}

/** A document without the frame of the console, for those without access. */
export const bareDocument = (title: string, heading: string, content: Content, head?: Content): VNode => html`
  <html lang="en">
    ${headOf(title, html`<link rel="icon" href="data:," /><link rel="stylesheet" href=${ASSETS.style} />${head}`)}
    <body class="bare">
      <main class="panel">
        <h1>${heading}</h1>
        ${content}
      </main>
    </body>
  </html>
`;

/** browser/shared/palette.ts opens the command palette instead of the Events page. */
const searchForEverything = html`
  <a class="opener" href="/events" aria-haspopup="dialog">
    ${iconOf('search')}<span>Search pages, people, devices, events</span><kbd>Ctrl K</kbd>
  </a>
`;

const OF_EVERY_PAGE = ['shared/page.ts', 'shared/time-zone.ts', 'shared/keys.ts', 'shared/actions.ts'];

/** The document around a page: navigation, user name, content. Its times are in the zone. */
export function layOut(
  { title, content, kind, search, bar, beside, modules = [] }: Page,
  entries: readonly ShownEntry[],
  path: string,
  visitor: Visitor,
  zone: string,
  sourceSwitch?: Content,
): VNode {
  return withZone(
    zone,
    html`
      <html lang="en" data-time-zone=${zone}>
        ${headOf(
          visitor.source === undefined ? title : `${title} · ${visitor.source}`,
          html`
            <link rel="icon" href=${ASSETS.icon} />
            <link rel="stylesheet" href=${ASSETS.uplotStyle} />
            <link rel="stylesheet" href=${ASSETS.style} />
            <script type="importmap" dangerouslySetInnerHTML=${{ __html: IMPORT_MAP }}></script>
            ${modulesFor([...OF_EVERY_PAGE, ...modules]).map(
              (address) => html`<link rel="modulepreload" href=${address} />`,
            )}
            ${[...OF_EVERY_PAGE, ...modules].map(
              (module) => html`<script type="module" src=${`${ASSETS.modules}/${module}`}></script>`,
            )}
          `,
        )}
        <body>
          <a class="skip visually-hidden" href="#content">Skip to content</a>
          ${navigation(entries, path, visitor)}
          <main id="content" class=${kind} tabindex="-1">
            <div class="top">${search ?? searchForEverything} ${bar} ${sourceSwitch}</div>
            <div class=${search === undefined ? 'row heading' : 'visually-hidden'}>
              <h1>${title}</h1>
              ${beside}
            </div>
            ${content}
          </main>
          <div id="dialog"></div>
          <div id="notices" role="status" aria-live="polite"></div>
        </body>
      </html>
    `,
  );
}
