import type { Request } from 'express';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { sumDeliveries } from '../../store/search-deliveries.ts';
import type { Delivery, DeliverySums } from '../../store/search-deliveries.ts';
import { deliveryAddress } from '../addresses.ts';
import { queryOf } from '../api/query.ts';
import { readAsked } from '../api/route.ts';
import { fieldOf } from '../html/field.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { bytesOf, numberOf } from '../html/number.ts';
import { pagerOf } from '../html/pager.ts';
import { selectOf } from '../html/select.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { timeOf } from '../html/time.ts';
import { TYPE_OPTIONS } from '../message-type.ts';
import { deliveryQuery, filterOf } from './delivery-schemas.ts';
import { readPage } from './page-of-deliveries.ts';
import type { PageOfDeliveries } from './page-of-deliveries.ts';

/** The list of deliveries. */
export async function renderDeliveries(db: Db, request: Request): Promise<Page> {
  const { query } = readAsked(z.object({ query: deliveryQuery }), request);
  const [page, sums] = await Promise.all([readPage(db, query), sumDeliveries(db, filterOf(query))]);
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
