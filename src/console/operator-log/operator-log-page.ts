import { badge } from '../html/badge.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { durationOf, timeOf } from '../html/time.ts';
import type { OperatorActionName } from '../../store/tables.ts';
import type { ActionPage } from './operator-log-pages.ts';
import type { OperatorActionLine } from './operator-log-schemas.ts';

/** Each action as one says that it was done. */
const WORDS: Readonly<Record<OperatorActionName, string>> = {
  'console.login': 'logged in',
  'console.logout': 'logged out',
  'events.export': 'exported events',
  'quarantine.replay': 'replayed quarantine',
  'quarantine.discard': 'discarded quarantine',
  'destination.test': 'sent a test to a destination',
  'destination.pause': 'paused a destination',
  'destination.resume': 'resumed a destination',
  'destination.rewind': 'rewound a destination',
  'destination.forget': 'forgot a destination',
  'destination.replay': 'sent rejected events again',
  'subscriptions.apply': 'applied subscriptions',
  'subscriptions.remove': 'removed subscriptions',
};

const WAYS = { console: 'console', api: 'API', command: 'command line' } as const;

/** The page of the operator log: who did what, when, and what came of it. */
export function operatorLogPage(
  { items, next_cursor: next }: ActionPage,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
): Page {
  return {
    title: 'Operator log',
    content: html`
      <p>What people have changed or taken out, by console, API or command line. No entry is ever changed.</p>
      ${
        items.length === 0
          ? emptyNote(cursor !== undefined)
          : tableOf('What people have done, newest first', COLUMNS, items)
      }
      <nav class="row pages" aria-label="Pages of the log">
        ${cursor !== undefined && html`<a class="button quiet" href=${`/operator-log?limit=${limit}`}>Newest</a>`}
        ${
          next !== null &&
          html`<a class="button quiet" rel="next" href=${`/operator-log?limit=${limit}&cursor=${next}`}
            >Older</a
          >`
        }
      </nav>
    `,
  };
}

const emptyNote = (isBehind: boolean) =>
  isBehind
    ? html`<p class="empty">Nothing is older than that.</p>`
    : html`<p class="empty">
        Nobody has changed anything yet. What is done on <a href="/quarantine">Quarantine</a>,${' '}
        <a href="/destinations">Destinations</a> and <a href="/subscriptions">Subscriptions</a>, and each
        log-in and export, will stand here.
      </p>`;

const COLUMNS: readonly Column<OperatorActionLine>[] = [
  { heading: 'When (UTC)', cell: ({ began_at: began }) => timeOf(began) },
  {
    heading: 'Who',
    kind: 'nowrap',
    cell: ({ operator, via }) => html`${operator} <span class="dim">by ${WAYS[via]}</span>`,
  },
  {
    heading: 'What',
    kind: 'nowrap',
    cell: ({ action }) => html`${WORDS[action]}<br /><code class="dim">${action}</code>`,
  },
  { heading: 'To what', cell: ({ subject }) => subject },
  { heading: 'Asked for', kind: 'wrap', cell: ({ details }) => listOf(details) },
  { heading: 'Outcome', kind: 'nowrap', cell: outcomeOf },
  { heading: 'Result', kind: 'wrap', cell: ({ result }) => listOf(result ?? {}) },
];

function outcomeOf({ outcome, began_at: began, ended_at: ended }: OperatorActionLine): Content {
  if (outcome === null || ended === null) {
    return badge('plain', 'not ended');
  }
  const seconds = (Date.parse(ended) - Date.parse(began)) / 1000;
  const word = outcome === 'done' ? badge('good', 'done') : badge('bad', 'failed');
  return html`${word} <span class="dim nowrap">in ${durationOf(seconds)}</span>`;
}

/** Names and values, a line each. */
function listOf(values: Readonly<Record<string, unknown>>): Content {
  return html`
    <ul class="plain">
      ${Object.entries(values).map(
        ([name, value]) =>
          html`<li><span class="dim">${name.replaceAll('_', ' ')}:</span> ${show(value)}</li>`,
      )}
    </ul>
  `;
}

const show = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
