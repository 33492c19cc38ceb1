import type { Request } from 'express';
import type { VNode } from 'preact';
import { z } from 'zod';
import { asText, showBytes } from '../../show-bytes.ts';
import type { Db } from '../../store/database.ts';
import { QUARANTINE_STATES } from '../../store/quarantine-state.ts';
import type { Quarantined } from '../../store/search-quarantine.ts';
import { deliveryAddress } from '../addresses.ts';
import { queryOf } from '../api/query.ts';
import { readAsked } from '../api/route.ts';
import { TYPE_OPTIONS } from '../events/conditions.ts';
import { fieldOf, selectOf } from '../html/form.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { bytesOf, numberOf } from '../html/number.ts';
import { pagerOf, tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { badge, timeOf } from '../html/values.ts';
import { quarantineQuery } from './quarantine-schemas.ts';
import { readQuarantine } from './read-quarantine.ts';
import type { DescribedQuarantined, PageOfQuarantine } from './read-quarantine.ts';

type Written = Readonly<Record<string, string | string[]>>;

/** The list of what lies in quarantine, with what to do about it. */
export async function renderQuarantine(db: Db, request: Request): Promise<Page> {
  const { query } = readAsked(z.object({ query: quarantineQuery }), request);
  const page = await readQuarantine(db, query);
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

/** More characters of a text are no help on a page. */
const MAX_SHOWN = 64 * 1024;

/** The page of one in quarantine: all about it, its bytes, what to do and what became of it. */
export function quarantinedPage(described: DescribedQuarantined, content: Buffer): Page {
  const { item } = described;
  return {
    title: 'In quarantine',
    modules: ['quarantine.js'],
    content: html`
      ${quarantinedFacts(described)} ${item.resolution === null && actions(item.quarantine_id)}
      ${bytes(described, content)}
    `,
  };
}

function quarantinedFacts({ item, replayOf, account }: DescribedQuarantined): Content {
  const { replay_delivery_id: replayId, resolved_at: resolvedAt } = item;
  return html`
    <dl class="facts panel">
      <dt>State</dt>
      <dd>${stateBadge(item)} ${resolvedAt !== null && timeOf(resolvedAt)}</dd>
      <dt>Reason</dt>
      <dd>${item.reason}</dd>
      <dt>Received (UTC)</dt>
      <dd>${timeOf(item.received_at)}</dd>
      <dt>Source</dt>
      <dd>${item.source}</dd>
      <dt>Type</dt>
      <dd>${item.message_type}</dd>
      <dt>Size</dt>
      <dd>${bytesOf(item.bytes)}${item.encoding === null ? '' : `, in ${item.encoding}`}</dd>
      <dt>Delivery</dt>
      <dd><a class="mono" href=${deliveryAddress(item.delivery_id)}>${item.delivery_id}</a></dd>
      <dt>Id</dt>
      <dd class="mono">${item.quarantine_id}</dd>
      ${
        replayOf !== undefined &&
        html`
          <dt>Came from the replay of</dt>
          <dd><a class="mono" href=${quarantinedAddress(replayOf)}>${replayOf}</a></dd>
        `
      }
      ${
        replayId !== null &&
        html`
          <dt>Replayed as delivery</dt>
          <dd>
            <a class="mono" href=${deliveryAddress(replayId)}>${replayId}</a>${' '}
            ${
              account !== undefined &&
              `with ${numberOf(account.events)} events and ${numberOf(account.duplicates)} duplicates`
            }
          </dd>
        `
      }
      ${(account?.again ?? []).map(
        ({ quarantineId, reason }) => html`
          <dt>In quarantine again</dt>
          <dd><a class="mono" href=${quarantinedAddress(quarantineId)}>${quarantineId}</a>: ${reason}</dd>
        `,
      )}
    </dl>
  `;
}

/** What is done is told by the page when it is loaded anew. */
const actions = (id: string): Content => html`
  <h2>What to do</h2>
  <div class="row">
    <form data-action="/quarantine/replay" data-done="Replayed: this page says what came of it.">
      <input type="hidden" name="ids[]" value=${id} />
      <button>Replay</button>
    </form>
    <form
      data-action="/quarantine/discard"
      data-confirm="Discard it? Its bytes are emptied for good; its reason, size and source stay."
      data-done="Discarded."
    >
      <input type="hidden" name="ids[]" value=${id} />
      <button class="danger">Discard</button>
    </form>
  </div>
`;

function bytes({ item }: DescribedQuarantined, content: Buffer): Content {
  if (item.resolution === 'discarded') return html`<p class="empty">Its bytes were discarded.</p>`;
  const download = `/api/v1/quarantine/${item.quarantine_id}/content`;
  const text = showBytes(content, 'the download has all');
  return html`
    <h2>Its bytes</h2>
    <div class="row apart">
      <p>
        ${asText(content) === undefined ? 'No UTF-8 text: offset, bytes in hexadecimal, ASCII.' : 'As text.'}
      </p>
      <a class="button quiet" href=${download} download>Download as they came</a>
    </div>
    <pre tabindex="0" aria-label="Its bytes">${text.slice(0, MAX_SHOWN)}</pre>
    ${text.length > MAX_SHOWN && html`<p>${numberOf(text.length - MAX_SHOWN)} more characters: the download has all.</p>`}
  `;
}

/** The page of something in quarantine. */
export const quarantinedAddress = (id: string) => `/quarantine/${id}`;

/** What became of something in quarantine. */
export function stateBadge({ resolution }: Pick<Quarantined, 'resolution'>): VNode {
  switch (resolution) {
    case null:
      return badge('warn', 'open');
    case 'replayed':
      return badge('good', 'replayed');
    case 'discarded':
      return badge('plain', 'discarded');
  }
}

const COLUMNS: readonly Column<Quarantined>[] = [
  {
    heading: 'Received (UTC)',
    cell: (item) => html`<a href=${quarantinedAddress(item.quarantine_id)}>${timeOf(item.received_at)}</a>`,
  },
  { heading: 'State', cell: stateBadge },
  { heading: 'Type', cell: (item) => item.message_type },
  { heading: 'Source', cell: (item) => item.source },
  { heading: 'Size', kind: 'number', cell: (item) => bytesOf(item.bytes) },
  { heading: 'Reason', kind: 'wrap', cell: (item) => item.reason },
];

/** What lies in quarantine as a table; `first` is a column before the others. */
export function quarantineTable(
  items: readonly Quarantined[],
  first: readonly Column<Quarantined>[] = [],
): VNode {
  return tableOf('In quarantine, newest first', [...first, ...COLUMNS], items);
}
