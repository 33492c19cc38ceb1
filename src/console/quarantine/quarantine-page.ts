import type { Request } from 'express';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { QUARANTINE_STATES } from '../../store/search-quarantine.ts';
import type { Quarantined } from '../../store/search-quarantine.ts';
import { queryOf } from '../api/query.ts';
import { readAsked } from '../api/route.ts';
import { fieldOf } from '../html/field.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { numberOf } from '../html/number.ts';
import { pagerOf } from '../html/pager.ts';
import { selectOf } from '../html/select.ts';
import type { Column } from '../html/table.ts';
import { TYPE_OPTIONS } from '../message-type.ts';
import { readPage } from './page-of-quarantine.ts';
import type { PageOfQuarantine } from './page-of-quarantine.ts';
import { quarantineQuery } from './quarantined-schemas.ts';
import { quarantineTable } from './quarantine-table.ts';

type Written = Readonly<Record<string, string | string[]>>;

/** The list of what lies in quarantine, with what to do about it. */
export async function renderQuarantine(db: Db, request: Request): Promise<Page> {
  const { query } = readAsked(z.object({ query: quarantineQuery }), request);
  const page = await readPage(db, query);
  const written = queryOf(request);
  return {
    title: 'Quarantine',
    modules: ['quarantine.js'],
    content: html`
      <p>
        What came with the right secret and could not be stored as events, with its bytes. A replay takes it
        as if it came now; discarding empties the bytes for good.
      </p>
      ${filterForm(written)}
      ${page.items.length === 0 ? emptyState(query.state) : chooser(page, query.state, written)}
      ${pagerOf('/quarantine', written, page.next)}
    `,
  };
}

function filterForm(written: Written): Content {
  const valueOf = (name: string) => [written[name]].flat()[0];
  const states = QUARANTINE_STATES.map((state) => [state, state] as const);
  return html`
    <form class="filters" method="get" action="/quarantine" role="search" aria-label="Quarantine">
      ${selectOf({ name: 'state', label: 'State', value: valueOf('state'), options: states })}
      ${selectOf({ name: 'type', label: 'Type', value: valueOf('type'), options: TYPE_OPTIONS })}
      ${fieldOf({ name: 'source', label: 'Source', value: valueOf('source') })}
      ${fieldOf({ name: 'reason', label: 'Reason', value: valueOf('reason'), placeholder: 'any part of it' })}
      ${fieldOf({ name: 'since', label: 'From (UTC)', value: valueOf('since'), placeholder: '7d, 2026-01-31 08:00' })}
      ${fieldOf({ name: 'until', label: 'To (UTC)', value: valueOf('until'), placeholder: 'now' })}
      <div class="row">
        <button>Search</button>
        <a class="button quiet" href="/quarantine">Start over</a>
      </div>
    </form>
  `;
}

function emptyState(state: string): Content {
  if (state !== 'open') {
    return html`<p class="empty">Nothing matches. <a href="/quarantine">What is open</a> waits for you.</p>`;
  }
  return html`<p class="empty">
    Nothing waits here: whatever came could be stored, or was seen to. What was done earlier is under the
    states <a href="/quarantine?state=replayed">replayed</a> and
    <a href="/quarantine?state=discarded"> discarded</a>.
  </p>`;
}

const CHECKBOX: Column<Quarantined> = {
  heading: 'Choose',
  cell: (item) =>
    item.resolution === null &&
    html`<input
      type="checkbox"
      name="ids"
      value=${item.quarantine_id}
      aria-label=${`Choose what was received ${item.received_at.toISOString()}`}
    />`,
};

/** The conditions as the API takes them for "all that match". */
function matchingOf({ state: _state, cursor: _cursor, limit: _limit, ...conditions }: Written): string {
  return JSON.stringify(conditions);
}

function chooser({ items, total }: PageOfQuarantine, state: string, written: Written): Content {
  const isOpen = state === 'open';
  return html`
    <form id="chosen" data-matching=${matchingOf(written)} data-total=${isOpen ? total : 0}>
      <div class="row apart">
        <p>${numberOf(total)} ${state === 'all' ? '' : state}, ${numberOf(items.length)} of them here.</p>
        ${
          items.some((item) => item.resolution === null) &&
          html`
            <div class="row">
              <label><input type="checkbox" name="page" /> All on this page</label>
              ${
                isOpen &&
                html`<label><input type="checkbox" name="all" /> All ${numberOf(total)} that match</label>`
              }
              <button type="button" name="replay">Replay</button>
              <button type="button" name="discard" class="danger">Discard</button>
            </div>
          `
        }
      </div>
      <div id="outcome"></div>
      ${quarantineTable(items, [CHECKBOX])}
    </form>
  `;
}
