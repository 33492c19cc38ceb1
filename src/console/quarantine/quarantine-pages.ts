import { QUARANTINE_STATES } from '../../store/server/schema/delivery-tables.ts';
import type { Request } from 'express';
import { asText, showBytes } from '../../lib/text/show-bytes.ts';
import type { Db } from '../../store/server/database.ts';
import { type Quarantined } from '../../store/quarantine/search-quarantine.ts';
import { countOf, formatBytes, formatCount } from '../../lib/text/units.ts';
import { type Visitor, CHANGE_QUARANTINE, hasAccess } from '../access/access.ts';
import { deliveryAddress, quarantinedAddress } from '../addresses.ts';
import { only, queryOf, readQuery, type Written } from '../api/parameters.ts';
import { DELIVERED_TYPES } from '../events/conditions.ts';
import { actionButton, fieldOf, selectOf, typeSelect } from '../html/form.ts';
import { filterForm } from '../html/range-picker.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { badge, pagerOf, timeHeading, timeOf } from '../html/elements.ts';
import { numberColumn, tableOf, type Column } from '../browser/shared/table.ts';
import { factsOf, type Fact } from '../browser/shared/facts.ts';
import {
  conditionsShape,
  quarantineQuery,
  readQuarantine,
  type DescribedQuarantined,
} from './read-quarantine.ts';

export async function renderQuarantine(db: Db, visitor: Visitor, request: Request): Promise<Page> {
  const asked = readQuery(quarantineQuery, queryOf(request));
  const { values: query, written, right } = asked;
  const page = await readQuarantine(db, visitor.scope, query);
  return {
    title: 'Quarantine',
    modules: ['pages/quarantine.ts'],
    content: html`
      <p class="dim">
        Deliveries and records that could not be parsed or stored. Replay processes them again; Discard
        deletes their content.
      </p>
      ${filterForm('/quarantine', 'Quarantine', asked, [
        selectOf(asked, 'state', 'State', QUARANTINE_STATES),
        typeSelect(asked, DELIVERED_TYPES),
        fieldOf(asked, 'reason', 'Reason', 'any part'),
      ])}
      ${page.items.length === 0 ? emptyState(query.state) : chooser(page, query.state, written, hasAccess(visitor, CHANGE_QUARANTINE))}
      ${pagerOf('/quarantine', right, page.next_cursor)}
    `,
  };
}

function emptyState(state: string): Content {
  if (state !== 'open') {
    return html`<p class="empty">No items match. <a href="/quarantine">Show open items</a></p>`;
  }
  return html`<p class="empty">
    No open items. Earlier items are under <a href="/quarantine?state=replayed">replayed</a> and${' '}
    <a href="/quarantine?state=discarded">discarded</a>.
  </p>`;
}

const CHECKBOX: Column<Quarantined> = {
  heading: 'Select',
  cell: (item) =>
    item.resolution === null &&
    html`<input
      type="checkbox"
      name="ids"
      value=${item.quarantine_id}
      aria-label=${`Select the item received ${item.received_at.toISOString()}`}
    />`,
};

function chooser(
  page: Awaited<ReturnType<typeof readQuarantine>>,
  state: string,
  written: Written,
  canChange: boolean,
): Content {
  const { items, total } = page;
  const isOpen = state === 'open';
  const matching = JSON.stringify(only(written, ['source', ...Object.keys(conditionsShape)]));
  return html`
    <form id="chosen" data-matching=${matching} data-total=${isOpen ? total : 0}>
      <div class="row apart">
        <p>
          ${countOf(total, state === 'all' ? 'item' : `${state} item`)}${items.length < total && `, ${formatCount(items.length)} on this page`}
        </p>
        ${
          canChange &&
          items.some((item) => item.resolution === null) &&
          html`
            <div class="row">
              <label><input type="checkbox" name="page" /> Select this page</label>
              <button type="button" name="replay">
                Replay${isOpen && total > 1 && ` all ${formatCount(total)}`}
              </button>
              <button type="button" name="discard" class="danger">
                Discard${isOpen && total > 1 && ` all ${formatCount(total)}`}
              </button>
            </div>
          `
        }
      </div>
      <div id="outcome"></div>
      ${quarantineTable(items, canChange ? [CHECKBOX] : [])}
    </form>
  `;
}

/** The page shows no more characters of the content. */
const MAX_SHOWN = 64 * 1024;

/**
 * The page of one quarantined item: its details, the actions on it, and its content, which is undefined for visitors
 * who may not see it.
 */
export function quarantinedPage(
  described: DescribedQuarantined,
  content: Buffer | undefined,
  visitor: Visitor,
): Page {
  const { item } = described;
  return {
    title: 'Quarantined item',
    modules: ['pages/quarantine.ts'],
    content: html`
      ${quarantinedFacts(described)}
      ${hasAccess(visitor, CHANGE_QUARANTINE) && item.resolution === null && actions(item.quarantine_id)}
      ${content !== undefined && bytes(described, content)}
    `,
  };
}

function quarantinedFacts({ item, replayOf, account }: DescribedQuarantined): Content {
  const { replay_delivery_id: replayId, resolved_at: resolvedAt } = item;
  const linkTo = (id: string) => html`<a class="mono" href=${quarantinedAddress(id)}>${id}</a>`;
  return factsOf(
    [
      ['State', html`${stateBadge(item)} ${resolvedAt !== null && timeOf(resolvedAt)}`],
      ['Reason', item.reason],
      [timeHeading('Received'), timeOf(item.received_at)],
      ['Source', item.source],
      ['Type', item.message_type],
      ['Size', `${formatBytes(item.bytes)}${item.encoding === null ? '' : `, encoded as ${item.encoding}`}`],
      ['Delivery', html`<a class="mono" href=${deliveryAddress(item.delivery_id)}>${item.delivery_id}</a>`],
      ['Item ID', html`<code>${item.quarantine_id}</code>`],
      replayOf !== undefined && ['Quarantined by the replay of', linkTo(replayOf)],
      replayId !== null && [
        'Replayed as delivery',
        html`
          <a class="mono" href=${deliveryAddress(replayId)}>${replayId}</a>
          ${
            account !== undefined &&
            `: ${countOf(account.events, 'event')}, ${countOf(account.duplicates, 'duplicate')}`
          }
        `,
      ],
      ...(account?.again ?? []).map(({ quarantineId, reason }): Fact => [
        'Quarantined again',
        html`${linkTo(quarantineId)}: ${reason}`,
      ]),
    ],
    'panel',
  );
}

/** The page is reloaded after an action and then shows its result. */
const actions = (id: string): Content => html`
  <h2>Actions</h2>
  <div class="row">
    ${actionButton('/quarantine/replay', 'Replay', {
      done: 'Replayed. This page shows the result.',
      values: { 'ids[]': id },
    })}
    ${actionButton('/quarantine/discard', 'Discard', {
      kind: 'danger',
      confirm: 'Discard this item? Its content is deleted permanently; reason, size and source stay.',
      done: 'Discarded.',
      values: { 'ids[]': id },
    })}
  </div>
`;

function bytes({ item }: DescribedQuarantined, content: Buffer): Content {
  // A limit of quarantine may have discarded the content of a replayed item, too.
  if (content.length === 0 && item.bytes > 0) return html`<p class="empty">The content was discarded.</p>`;
  const download = `/api/v1/quarantine/${item.quarantine_id}/content`;
  const text = showBytes(content, 'download the content to see all of it');
  return html`
    <h2>Content</h2>
    <div class="row apart">
      <p>
        ${asText(content) === undefined ? 'Not UTF-8 text. Shown as hex dump: offset, bytes, ASCII.' : 'Shown as text.'}
      </p>
      <a class="button quiet" href=${download} download>Download original</a>
    </div>
    <pre tabindex="0" aria-label="Content">${text.slice(0, MAX_SHOWN)}</pre>
    ${text.length > MAX_SHOWN && html`<p>${formatCount(text.length - MAX_SHOWN)} more characters are in the download.</p>`}
  `;
}

const STATE_KINDS = { open: 'warn', replayed: 'good', discarded: 'plain' } as const;

const stateBadge = ({ resolution }: Quarantined): Content =>
  badge(STATE_KINDS[resolution ?? 'open'], resolution ?? 'open');

const COLUMNS: readonly Column<Quarantined>[] = [
  {
    heading: { time: 'Received' },
    cell: (item) => html`<a href=${quarantinedAddress(item.quarantine_id)}>${timeOf(item.received_at)}</a>`,
  },
  { heading: 'State', cell: stateBadge },
  { heading: 'Type', cell: (item) => item.message_type },
  { heading: 'Source', cell: (item) => item.source },
  numberColumn('Size', (item) => formatBytes(item.bytes)),
  { heading: 'Reason', kind: 'wrap', cell: (item) => item.reason },
];

/** Quarantined items as a table; `first` are columns before the others. */
export function quarantineTable(items: readonly Quarantined[], first: readonly Column<Quarantined>[] = []) {
  return tableOf('Quarantined items, newest first', [...first, ...COLUMNS], items);
}
