import type { Delivery } from '../../store/search-deliveries.ts';
import { eventTable } from '../events/event-table.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { bytesOf, numberOf } from '../html/number.ts';
import { durationOf, timeOf } from '../html/time.ts';
import { quarantinedAddress, quarantineTable } from '../quarantine/quarantine-table.ts';
import type { DescribedDelivery } from './describe-delivery.ts';
import { MOST_OF_EACH } from './describe-delivery.ts';

/** The page of one delivery. */
export function deliveryPage(described: DescribedDelivery): Page {
  const { delivery, quarantined } = described;
  return {
    title: 'Delivery',
    content: html`
      ${factsOf(described)}
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

function factsOf({ delivery, replayOf }: DescribedDelivery): Content {
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
