import type { VNode } from 'preact';
import type { Visitor } from '../access/access.ts';
import { ASSETS, IMPORT_MAP } from '../assets.ts';
import { html, type Content } from './html.ts';

/** The head of every document. */
export function headOf(title: string, more: Content): VNode {
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

/** A page of the console. */
export interface Page {
  readonly title: string;
  readonly content: Content;
  /** File names of the modules in `browser/` that the page runs. */
  readonly modules?: readonly string[];
}

/** An entry of the navigation. */
export interface NavigationEntry {
  readonly path: string;
  readonly label: string;
}

/** The document around a page: navigation, user name, content. */
export function layOut(
  { title, content, modules = [] }: Page,
  navigation: readonly NavigationEntry[],
  path: string,
  visitor: Visitor,
): VNode {
  return html`
    <html lang="en">
      ${headOf(
        title,
        html`
          <link rel="icon" href=${ASSETS.icon} />
          <link rel="stylesheet" href=${ASSETS.uplotStyle} />
          <link rel="stylesheet" href=${ASSETS.style} />
          <script type="importmap" dangerouslySetInnerHTML=${{ __html: IMPORT_MAP }}></script>
          ${['page.js', 'actions.js', ...modules].map(
            (module) => html`<script type="module" src=${`${ASSETS.modules}/${module}`}></script>`,
          )}
        `,
      )}
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <header class="top">
          <a class="brand" href="/">xiq-sink</a>
          <nav aria-label="Pages">
            <ul>
              ${navigation.map(
                (entry) => html`
                  <li>
                    <a href=${entry.path} aria-current=${isWithin(path, entry.path) ? 'page' : undefined}>
                      ${entry.label}
                    </a>
                  </li>
                `,
              )}
            </ul>
          </nav>
          ${visitor.session && logOut(visitor)}
        </header>
        <main id="content" tabindex="-1">
          <h1>${title}</h1>
          ${content}
        </main>
        <div id="notices" role="status" aria-live="polite"></div>
      </body>
    </html>
  `;
}

const logOut = ({ operator, role }: Visitor) => html`
  <form class="log-out" method="post" action="/logout">
    <span title=${`Role: ${role}`}>${operator.name}</span>
    <button class="quiet">Log out</button>
  </form>
`;

const isWithin = (path: string, entry: string) =>
  path === entry || (entry !== '/' && path.startsWith(`${entry}/`));
