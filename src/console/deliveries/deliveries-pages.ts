import type { Request } from 'express';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { sumDeliveries } from '../../store/search-deliveries.ts';
import type { Delivery, DeliverySums } from '../../store/search-deliveries.ts';
import { deliveryAddress } from '../addresses.ts';
import { queryOf } from '../api/query.ts';
import { readAsked } from '../api/route.ts';
import { TYPE_OPTIONS } from '../events/conditions.ts';
import { eventTable } from '../events/event-table.ts';
import { fieldOf, selectOf } from '../html/form.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { bytesOf, numberOf } from '../html/number.ts';
import { pagerOf, tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { durationOf, timeOf } from '../html/values.ts';
import { quarantinedAddress, quarantineTable } from '../quarantine/quarantine-pages.ts';
import { deliveryQuery, filterOf } from './delivery-schemas.ts';
import { MOST_OF_EACH, readDeliveries } from './read-deliveries.ts';
import type { DescribedDelivery, PageOfDeliveries } from './read-deliveries.ts';

/** The list of deliveries. */
export async function renderDeliveries(db: Db, request: Request): Promise<Page> {
  const { query } = readAsked(z.object({ query: deliveryQuery }), request);
  const [page, sums] = await Promise.all([readDeliveries(db, query), sumDeliveries(db, filterOf(query))]);
  const written = queryOf(request);
  return {
    title: 'Deliveries',
    content: html`
      ${filterForm(written)} ${sumsOf(sums)} ${listOf(page)} ${pagerOf('/deliveries', written, page.next)}
    `,
  };
}

function filterForm(written: Readonly<Record<string, string | string[]>>): Content {
  const valueOf = (name: string) => [written[name]].flat()[0];
  return html`
    <form class="filters" method="get" action="/deliveries" role="search" aria-label="Deliveries">
      ${fieldOf({ name: 'since', label: 'From (UTC)', value: valueOf('since'), placeholder: '24h, 2026-01-31 08:00' })}
      ${fieldOf({ name: 'until', label: 'To (UTC)', value: valueOf('until'), placeholder: 'now' })}
      ${fieldOf({ name: 'source', label: 'Source', value: valueOf('source') })}
      ${selectOf({ name: 'type', label: 'Type', value: valueOf('type'), options: TYPE_OPTIONS })}
      ${selectOf({
        name: 'with',
        label: 'Only those with',
        value: valueOf('with'),
        options: [
          ['', 'anything'],
          ['quarantined', 'something quarantined'],
          ['duplicates', 'duplicates'],
        ],
      })}
      <div class="row">
        <button>Search</button>
        <a class="button quiet" href="/deliveries">Start over</a>
      </div>
    </form>
  `;
}

function sumsOf(sums: DeliverySums | undefined): Content {
  if (sums === undefined) {
    return html`<p class="dim">Too many match to add them up at once: a shorter time is added up.</p>`;
  }
  return html`
    <p>
      ${numberOf(sums.deliveries)} deliveries brought ${numberOf(sums.events)} events; of the rest,${' '}
      ${numberOf(sums.duplicates)} had been stored before and ${numberOf(sums.quarantined)} went to
      quarantine.
    </p>
  `;
}

const COLUMNS: readonly Column<Delivery>[] = [
  {
    heading: 'Received (UTC)',
    cell: (row) => html`<a href=${deliveryAddress(row.delivery_id)}>${timeOf(row.received_at)}</a>`,
  },
  { heading: 'Type', cell: (row) => row.message_type },
  { heading: 'Source', cell: (row) => row.source },
  { heading: 'Origin', cell: (row) => row.origin },
  { heading: 'Size', kind: 'number', cell: (row) => bytesOf(row.body_bytes) },
  { heading: 'Records', kind: 'number', cell: (row) => numberOf(row.record_count) },
  { heading: 'Events', kind: 'number', cell: (row) => numberOf(row.event_count) },
  { heading: 'Duplicates', kind: 'number', cell: (row) => numberOf(row.duplicate_count) },
  { heading: 'Quarantined', kind: 'number', cell: (row) => numberOf(row.quarantined_count) },
];

function listOf({ deliveries, lookedBackTo }: PageOfDeliveries): Content {
  const gaveUp =
    lookedBackTo !== undefined &&
    html`<p class="note warn">
      Looking further back than ${timeOf(lookedBackTo)} took too long: give a time that ends before it.
    </p>`;
  if (deliveries.length > 0) return [tableOf('Deliveries, newest first', COLUMNS, deliveries), gaveUp];
  return [
    gaveUp,
    html`<p class="empty">
      No delivery matches. Take conditions away, or post one: the <a href="/">overview</a> tells where the
      cloud sends to, and <a href="/subscriptions">subscriptions</a> whether it does.
    </p>`,
  ];
}

/** The page of one delivery. */
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
          <h2>In quarantine</h2>
          ${firstOf(quarantined.length, delivery.quarantined_count)} ${quarantineTable(quarantined)}
        `
      }
    `,
  };
}

function deliveryFacts({ delivery, replayOf }: DescribedDelivery): Content {
  const taken = (delivery.stored_at.getTime() - delivery.received_at.getTime()) / 1_000;
  return html`
    <dl class="facts panel">
      <dt>Id, as its receipt says</dt>
      <dd class="mono">${delivery.delivery_id}</dd>
      <dt>Received (UTC)</dt>
      <dd>${timeOf(delivery.received_at)}</dd>
      <dt>Stored (UTC)</dt>
      <dd>${timeOf(delivery.stored_at)}, ${durationOf(Math.max(0, taken))} later</dd>
      <dt>Source</dt>
      <dd>${delivery.source}</dd>
      <dt>Type</dt>
      <dd>${delivery.message_type}</dd>
      <dt>Came by</dt>
      <dd>${cameBy(delivery)}</dd>
      ${
        replayOf !== undefined &&
        html`
          <dt>Replay of</dt>
          <dd><a class="mono" href=${quarantinedAddress(replayOf)}>${replayOf}</a></dd>
        `
      }
      <dt>Size</dt>
      <dd>${bytesOf(delivery.body_bytes)}</dd>
      <dt>Records, as its receipt says</dt>
      <dd>${numberOf(delivery.record_count)}</dd>
      <dt>Came to</dt>
      <dd>${accountOf(delivery)}</dd>
    </dl>
  `;
}

const cameBy = ({ origin, secret_form: form }: Delivery) =>
  origin === 'backfill'
    ? "read back through the cloud's API"
    : `webhook, its secret as ${form ?? 'not known'}`;

function accountOf(delivery: Delivery): string {
  const { expected_count, event_count, duplicate_count, quarantined_count } = delivery;
  return (
    `${numberOf(expected_count)} expected = ${numberOf(event_count)} events stored + ` +
    `${numberOf(duplicate_count)} stored before + ${numberOf(quarantined_count)} quarantined`
  );
}

function eventsOf({ delivery, events }: DescribedDelivery): Content {
  if (events === undefined) {
    return html`<p class="note warn">
      Its ${numberOf(delivery.event_count)} events were not all found in time: they lie far from the time of
      its arrival, or their month was dropped by retention. The <a href="/events">search</a> finds them by
      their own time.
    </p>`;
  }
  if (events.length === 0) {
    return html`<p class="empty">
      It stored no event of its own:
      ${delivery.duplicate_count > 0 ? 'what it said had been stored before.' : 'see what went to quarantine below.'}
    </p>`;
  }
  const type = delivery.message_type === 'UNKNOWN' ? undefined : delivery.message_type;
  return [firstOf(events.length, delivery.event_count), eventTable(events, type)];
}

const firstOf = (shown: number, all: number) =>
  shown < all && html`<p>The first ${numberOf(Math.min(shown, MOST_OF_EACH))} of ${numberOf(all)}.</p>`;
