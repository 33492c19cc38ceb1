import { convertDelivery } from '../../src/handlers/delivery-to-events.ts';
import type { ReadDelivery, SetAside } from '../../src/queue/delivery-batch.ts';
import type { EventRow } from '../../src/store/events/insert-events.ts';

/** All that a delivery comes to, at once. */
export function deliveryToEvents(delivery: ReadDelivery): { events: EventRow[]; setAside: SetAside[] } {
  const events: EventRow[] = [];
  const setAside: SetAside[] = [];
  for (const part of convertDelivery(delivery)) {
    if ('event' in part) events.push(part.event);
    else if ('setAside' in part) setAside.push(part.setAside);
  }
  return { events, setAside };
}
