import type { Delivery } from '../../store/search-deliveries.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { deliveryAddress } from '../addresses.ts';
import { factsOf, factsPanel } from '../html/facts.ts';
import type { Fact } from '../html/facts.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { bytesOf, numberOf } from '../html/number.ts';
import { exactTimeOf } from '../html/time.ts';

/** The delivery that brought an event, and the receipt that its sender got. */
export function deliveryPanel({ deliveryId }: StoredEvent, delivery: Delivery | undefined): Content {
  const id: Fact = [
    'Delivery id',
    html`<a href=${deliveryAddress(deliveryId)}><code>${deliveryId}</code></a>`,
  ];
  if (delivery === undefined) return factsPanel('Delivery', [id, ['Kept', 'no longer']]);
  const { expected_count: expected, event_count: stored, duplicate_count: duplicates } = delivery;
  const quarantined = numberOf(delivery.quarantined_count);
  const facts: readonly Fact[] = [
    id,
    ['Received', exactTimeOf(delivery.received_at)],
    ['Stored', exactTimeOf(delivery.stored_at)],
    ['Size', bytesOf(delivery.body_bytes)],
    ['Form of the secret', delivery.secret_form],
    ['Origin', delivery.origin],
    [
      'Rows',
      `${numberOf(expected)} expected: ${numberOf(stored)} stored, ${numberOf(duplicates)} stored before, ${quarantined} quarantined`,
    ],
  ];
  const receipt = html`
    <h3>Receipt that the sender got</h3>
    ${factsOf([
      ['delivery_id', html`<code>${deliveryId}</code>`],
      ['records', numberOf(delivery.record_count)],
      [
        'quarantined',
        delivery.quarantined_count === 0
          ? '0'
          : `${quarantined}, or less: what only storing refuses is counted too`,
      ],
    ])}
  `;
  return factsPanel('Delivery', facts, receipt);
}
