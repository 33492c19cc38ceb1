import { MESSAGE_TYPES, UNKNOWN_MESSAGE_TYPE } from '../../domain.ts';
import { readArrivals } from '../../store/arrivals.ts';
import type { Arrival } from '../../store/arrivals.ts';
import type { Db } from '../../store/database.ts';
import { RANGE_NAMES, RANGES } from './arrival-ranges.ts';
import type { RangeName } from './arrival-ranges.ts';
import type { Arrived } from './overview-schemas.ts';

const MINUTE_MS = 60_000;

/**
 * What arrived in the last hour, day and week, to the minute: a line for each of the nine types, and one for what has
 * none if there is any.
 */
export async function readArrived(db: Db, now: number): Promise<Arrived[]> {
  const until = new Date(Math.ceil((now + 1) / MINUTE_MS) * MINUTE_MS);
  const readRange = async (name: RangeName): Promise<Arrival[]> => {
    const since = new Date(until.getTime() - RANGES[name] * 1000);
    return readArrivals(db, { since, until, bucketSeconds: RANGES[name] });
  };
  const [hour = [], day = [], week = []] = await Promise.all(RANGE_NAMES.map(readRange));
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
