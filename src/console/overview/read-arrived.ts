import { MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE } from '../../domain.ts';
import type { Arrival } from '../../store/read-arrivals.ts';
import { RANGES } from './arrival-ranges.ts';
import type { ArrivalsReader } from './arrivals-reader.ts';
import type { Arrived } from './overview-schemas.ts';

const MINUTE_MS = 60_000;

/** In seconds; what is in narrow buckets is hardly kept by the reader. */
const RECENT_WIDTH = 300;

/**
 * What arrived in the last hour, day and week, to the minute: a line for each of the nine types, and one for what has
 * none if there is any. What is older than a day hardly changes, and is the most: it may be a minute old.
 */
export async function readArrived(read: ArrivalsReader, now: number): Promise<Arrived[]> {
  const end = Math.ceil((now + 1) / MINUTE_MS) * MINUTE_MS;
  const before = (seconds: number) => new Date(end - seconds * 1000);
  const until = new Date(end);
  const [hour, day, earlier] = await Promise.all([
    read({ since: before(RANGES.hour), until, bucketSeconds: RECENT_WIDTH }),
    read({ since: before(RANGES.day), until, bucketSeconds: RECENT_WIDTH }),
    read({ since: before(RANGES.week), until: before(RANGES.day), bucketSeconds: RANGES.week }),
  ]);
  const week = [...earlier, ...day];
  const hasUnknown = week.some(({ messageType }) => messageType === UNKNOWN_MESSAGE_TYPE);
  const types: readonly Arrived['message_type'][] = hasUnknown
    ? [...MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE]
    : MESSAGE_TYPES;
  return types.map((type) => ({
    message_type: type,
    hour: amountOf(hour, type),
    day: amountOf(day, type),
    week: amountOf(week, type),
  }));
}

function amountOf(arrivals: readonly Arrival[], type: Arrival['messageType']) {
  const amount = { deliveries: 0, events: 0 };
  for (const { messageType, deliveries, events } of arrivals) {
    if (messageType !== type) continue;
    amount.deliveries += deliveries;
    amount.events += events;
  }
  return amount;
}
