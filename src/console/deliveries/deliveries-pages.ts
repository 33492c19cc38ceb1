import type { Request } from 'express';
import type { Db } from '../../store/server/database.ts';
import type { Delivery } from '../../store/deliveries/search-deliveries.ts';
import type { Scope } from '../../store/server/scope.ts';
import { countOf, formatBytes, formatCount, formatElapsed } from '../../lib/text/units.ts';
import { deliveryAddress, quarantinedAddress } from '../addresses.ts';
import { queryOf, readQuery } from '../api/parameters.ts';
import { DELIVERED_TYPES } from '../events/conditions.ts';
import { eventTimeline } from '../events/event-timeline.ts';
import { typeSelect } from '../html/form.ts';
import { filterForm } from '../html/range-picker.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { pagerOf, timeHeading, timeOf } from '../html/elements.ts';
import { numberColumn, tableOf, type Column } from '../browser/shared/table.ts';
import { factsOf } from '../browser/shared/facts.ts';
import { quarantineTable } from '../quarantine/quarantine-pages.ts';
import { deliveryQuery, MOST_OF_EACH, readDeliveries, type DescribedDelivery } from './read-deliveries.ts';

export async function renderDeliveries(db: Db, scope: Scope, request: Request): Promise<Page> {
  const asked = readQuery(deliveryQuery, queryOf(request));
  const { values, right } = asked;
  const page = await readDeliveries(db, scope, values);
  return {
    title: 'Deliveries',
    content: html`
      ${filterForm('/deliveries', 'Deliveries', asked, typeSelect(asked, DELIVERED_TYPES))}
      ${listOf(page, Object.keys(right).length > 0)} ${pagerOf('/deliveries', right, page.next_cursor)}
    `,
  };
}

const COLUMNS: readonly Column<Delivery>[] = [
  {
    heading: { time: 'Received' },
    cell: (row) => html`<a href=${deliveryAddress(row.delivery_id)}>${timeOf(row.received_at)}</a>`,
  },
  { heading: 'Type', cell: (row) => row.message_type },
  { heading: 'Source', cell: (row) => row.source },
  { heading: 'Origin', cell: (row) => row.origin },
  numberColumn('Size', (row) => formatBytes(row.body_bytes)),
  numberColumn('Records', (row) => formatCount(row.record_count)),
  numberColumn('Events', (row) => formatCount(row.event_count)),
  numberColumn('Duplicates', (row) => formatCount(row.duplicate_count)),
  numberColumn('Quarantined', (row) => formatCount(row.quarantined_count)),
];

function listOf(
  { items, lookedBackTo }: Awaited<ReturnType<typeof readDeliveries>>,
  hasConditions: boolean,
): Content {
  const stopped =
    lookedBackTo !== undefined &&
    html`<p class="note warn">
      The search stopped at ${timeOf(lookedBackTo)} because it took too long. To search further back, set the
      end of the range to this time.
    </p>`;
  if (items.length > 0) return [tableOf('Deliveries, newest first', COLUMNS, items), stopped];
  return [
    stopped,
    html`<p class="empty">
      ${hasConditions ? 'No deliveries match. Remove conditions, or send' : 'No deliveries yet. Send'} a
      delivery: the <a href="/">overview</a> shows how, and${' '}
      <a href="/subscriptions">Subscriptions</a> shows what the cloud sends.
    </p>`,
  ];
}

export function deliveryPage(described: DescribedDelivery): Page {
  const { delivery, quarantined } = described;
  return {
    title: 'Delivery',
    content: html`
      ${deliveryFacts(described)}
      <h2>Events</h2>
      ${eventsOf(described)}
      ${
        delivery.quarantined_count > 0 &&
        html`
          <h2>Quarantined records</h2>
          ${firstOf(quarantined.length, delivery.quarantined_count)} ${quarantineTable(quarantined)}
        `
      }
    `,
  };
}

function deliveryFacts({ delivery, replayOf }: DescribedDelivery): Content {
  const seconds = (delivery.stored_at.getTime() - delivery.received_at.getTime()) / 1_000;
  return factsOf(
    [
      ['Delivery ID', html`<code>${delivery.delivery_id}</code>`],
      [timeHeading('Received'), timeOf(delivery.received_at)],
      [timeHeading('Stored'), html`${timeOf(delivery.stored_at)}, ${formatElapsed(seconds)} later`],
      ['Source', delivery.source],
      ['Type', delivery.message_type],
      delivery.sent_type !== null && ['Sent as', delivery.sent_type],
      ['Origin', originOf(delivery)],
      replayOf !== undefined && [
        'Replay of',
        html`<a class="mono" href=${quarantinedAddress(replayOf)}>${replayOf}</a>`,
      ],
      ['Size', formatBytes(delivery.body_bytes)],
      ['Records', formatCount(delivery.record_count)],
      ['Result', resultOf(delivery)],
    ],
    'panel',
  );
}

const originOf = ({ origin, secret_form: form }: Delivery) =>
  origin === 'webhook' ? `webhook, authentication: ${form ?? 'unknown'}` : ORIGIN_TEXTS[origin];

const ORIGIN_TEXTS = {
  backfill: "read from the cloud's API",
  'xiq-sink': 'created by xiq-sink itself',
} as const;

function resultOf(delivery: Delivery): string {
  const { expected_count, event_count, duplicate_count, quarantined_count } = delivery;
  return (
    `${formatCount(expected_count)} expected = ${countOf(event_count, 'event')} stored + ` +
    `${countOf(duplicate_count, 'duplicate')} + ${formatCount(quarantined_count)} quarantined` +
    (delivery.refused_count === 0
      ? ''
      : `; ${countOf(delivery.refused_count, 'record')} of erased persons not stored again`)
  );
}

function eventsOf({ delivery, events }: DescribedDelivery): Content {
  if (events === undefined) {
    return html`
      <p class="note warn">
        Some of the ${countOf(delivery.event_count, 'event')} that this delivery added are missing.
      </p>
      <p>
        Events that occurred long before the delivery are not searched here:${' '}
        <a href="/events">search events</a> by their own time. <code>xiq-sink verify</code> shows whether rows
        are missing, and which.
      </p>
    `;
  }
  if (events.length === 0) {
    return html`<p class="empty">
      This delivery added no events.${' '}
      ${
        delivery.duplicate_count > 0
          ? 'All of its events were already stored.'
          : 'Its records are in quarantine, see below.'
      }
    </p>`;
  }
  return [firstOf(events.length, delivery.event_count), eventTimeline('Events, newest first', events)];
}

const firstOf = (shown: number, all: number) =>
  shown < all && html`<p>First ${formatCount(Math.min(shown, MOST_OF_EACH))} of ${formatCount(all)}.</p>`;
