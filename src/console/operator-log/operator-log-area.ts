import { z } from 'zod';
import type { Db } from '../../store/server/database.ts';
import type { LoggedAction } from '../../store/access/operator-log.ts';
import { formatElapsed } from '../../lib/text/units.ts';
import { pageSchema, type PageOf } from '../api/paging.ts';
import { only, queryOf, readQuery, type Entered, type Written } from '../api/parameters.ts';
import { jsonRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { fieldOf, selectOf } from '../html/form.ts';
import { filterForm } from '../html/range-picker.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { badge, exportLinks, pagerOf, timeOf } from '../html/elements.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';
import { type Visitor, hasAccess, READ_OPERATOR_LOG } from '../access/access.ts';
import { actionSchema, askedPage, readActions, exportRoute, EXPORTING } from './operator-log-entries.ts';
import { OPERATOR_ACTIONS } from '../../store/server/schema/access-tables.ts';

export function operatorLogArea({ db }: { readonly db: Db }): Area {
  return {
    tag: 'operator log',
    routes: [
      jsonRoute({
        route: 'GET /operator-log',
        summary: 'list operator actions, newest first',
        ...READ_OPERATOR_LOG,
        input: { query: askedPage },
        answer: pageSchema(actionSchema),
        work: ({ query }) => readActions(db, query),
      }),
      exportRoute(db),
    ],
    pages: [
      {
        path: '/operator-log',
        entry: { label: 'Operator log', group: 'Administer', icon: 'operator log' },
        ...READ_OPERATOR_LOG,
        render: async (request, visitor) => {
          const asked = readQuery(askedPage, queryOf(request));
          return operatorLogPage(await readActions(db, asked.values), asked, visitor);
        },
      },
    ],
  };
}

const WAYS = { console: 'console', api: 'API', command: 'command line', system: 'the service' } as const;

function operatorLogPage(
  { items, next_cursor: next }: PageOf<LoggedAction>,
  { right, ...entered }: Entered & { readonly right: Written },
  visitor: Visitor,
): Page {
  return {
    title: 'Operator log',
    content: html`
      <p>
        Changes, exports, SQL statements, views of timelines and logins, made in the console, through the API
        or on the command line, and the service's own actions, such as starts and retention. Entries are never
        changed.
      </p>
      ${filterForm('/operator-log', 'Operator log', entered, [
        fieldOf(entered, 'operator', 'Operator', 'ada'),
        selectOf(entered, 'action', 'Action', ACTIONS),
      ])}
      ${hasAccess(visitor, EXPORTING) && items.length > 0 && exportLinks('/api/v1/operator-log/export', only(right, ['operator', 'action', 'since', 'until']))}
      ${tableOf('Operator actions, newest first', COLUMNS, items, emptyText(right))}
      ${pagerOf('/operator-log', right, next)}
    `,
  };
}

const ACTIONS = [['', 'all actions'], ...Object.entries(OPERATOR_ACTIONS)] as const;

function emptyText(written: Written): string {
  if (Object.keys(written).length === 0)
    return 'No entries yet. Changes, logins and exports will appear here.';
  return written['cursor'] === undefined ? 'No entries match.' : 'No older entries.';
}

const COLUMNS: readonly Column<LoggedAction>[] = [
  { heading: { time: 'Time' }, cell: ({ began_at: began }) => timeOf(began) },
  {
    heading: 'Operator',
    kind: 'nowrap',
    cell: ({ operator, via }) => html`${operator} <span class="dim">via ${WAYS[via]}</span>`,
  },
  {
    heading: 'Action',
    kind: 'nowrap',
    cell: ({ action }) => html`${OPERATOR_ACTIONS[action]}<br /><code class="dim">${action}</code>`,
  },
  { heading: 'Object', cell: ({ subject }) => subject },
  { heading: 'Outcome', kind: 'nowrap', cell: outcomeOf },
  {
    heading: 'Details',
    kind: 'wrap',
    cell: ({ details, result }) => [listOf(details), listOf(result ?? {})],
  },
];

function outcomeOf({ outcome, began_at: began, ended_at: ended }: LoggedAction): Content {
  if (outcome === null || ended === null) {
    return badge('plain', 'running');
  }
  const seconds = (ended.getTime() - began.getTime()) / 1000;
  const word = outcome === 'done' ? badge('good', 'done') : badge('bad', 'failed');
  return html`${word} <span class="dim nowrap">in ${formatElapsed(seconds)}</span>`;
}

/** Names and values, one per line; values with parts are folded. */
function listOf(values: Readonly<Record<string, unknown>>): Content {
  if (Object.keys(values).length === 0) return undefined;
  return html`
    <ul class="plain">
      ${Object.entries(values).map(
        ([name, value]) => html`<li>${valueOf(name.replaceAll('_', ' '), value)}</li>`,
      )}
    </ul>
  `;
}

function valueOf(name: string, value: unknown): Content {
  const parts = z.record(z.string(), z.unknown()).safeParse(value);
  if (!parts.success) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return html`<span class="dim">${name}:</span> ${text}`;
  }
  return html`
    <details>
      <summary>${name} (${Object.keys(parts.data).length})</summary>
      ${listOf(parts.data)}
    </details>
  `;
}
