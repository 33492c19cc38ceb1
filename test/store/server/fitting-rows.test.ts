import { beforeAll, expect, it } from 'vitest';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { exportLines } from '../../../src/store/events/export-events.ts';
import type { EventPosition } from '../../../src/store/events/event-pages.ts';
import { readSlice, type LogSlice } from '../../../src/store/events/read-events.ts';
import { searchEvents } from '../../../src/store/events/search-events.ts';
import { openSharedEvents } from '../../../src/store/events/shared-events.ts';
import { openLog, readRange } from '../../../src/store/log/read-log.ts';
import { readingSealed, SEALED_VERSION, sealedEvents } from '../../../src/store/seal/sealed-rows.ts';
import type { EventOrder } from '../../../src/store/partitions/time-slices.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { useDatabase } from '../../support/use-database.ts';

const TYPES = ['AUDIT_LOG_ALL', 'EMAIL_LOG_ALL'] as const;
const EVENTS = 24;
const START = Date.UTC(2026, 4, 1);
/** Stored with 2 %, or as it is. */
const LONG = 'x'.repeat(1_500_000);
const INCOMPRESSIBLE = Array.from({ length: 60_000 }, () => Math.random().toString(36).slice(2)).join('');
/** The bound that the store has for what it reads at once, and a row of each family. */
const MOST_CHARACTERS = 16_000_000;

const test = useDatabase({ logs: true });
beforeAll(async () => {
  const deliveries = Array.from({ length: EVENTS }, (_, number) => {
    const type = TYPES[number % TYPES.length] ?? 'AUDIT_LOG_ALL';
    const description = [LONG, 'short', INCOMPRESSIBLE][number % 3];
    const timeStamp = START + number * 1_000;
    return queuedDelivery(type, [auditRecord({ id: String(number), timeStamp, description })]);
  });
  for (const delivery of deliveries) await storeDeliveries(test.db, delivery);
  await untilSeen(test.db);
});

const sizeOf = (events: readonly StoredEvent[]) => JSON.stringify(events).length;
const numberOf = ({ payload }: StoredEvent) => Number(payload['id']);
const ALL = Array.from({ length: EVENTS }, (_, number) => number);

/** Reads the log from its beginning to its end. */
async function follow(read: (position: number) => Promise<LogSlice>): Promise<readonly number[]> {
  const found: number[] = [];
  let { first: position } = await readRange(test.db);
  for (;;) {
    const { events, end } = await read(position);
    if (end === undefined) return found;
    const all = [...events];
    expect(sizeOf(all)).toBeLessThan(MOST_CHARACTERS);
    found.push(...all.map(numberOf));
    position = end;
  }
}

it('who follows the log gets all long events in their order, few at a time', async () => {
  const log = openLog(test.db);
  expect(await follow((position) => readSlice(log, ALL_SOURCES, position, 1_000))).toEqual(ALL);

  const shared = openSharedEvents(log);
  shared.join();
  shared.join();
  const follower = () => follow((position) => shared.read(position, 1_000, new Set(TYPES)));
  expect(await Promise.all([follower(), follower()])).toEqual([ALL, ALL]);
});

it.each<EventOrder>(['newest', 'oldest'])(
  'pages of long events, %s first, are short and leave none out',
  async (order) => {
    const found: number[] = [];
    let after: EventPosition | undefined;
    do {
      const { events, next } = await searchEvents(test.db, ALL_SOURCES, {}, { limit: 1_000, order, after });
      expect(sizeOf(events)).toBeLessThan(MOST_CHARACTERS);
      found.push(...events.map(numberOf));
      after = next && { ...next, occurredAt: new Date(next.occurredAt) };
    } while (after !== undefined);
    expect(found).toEqual(order === 'oldest' ? ALL : ALL.toReversed());
  },
);

it('an export has each long event once, in pieces', async () => {
  let lines = 0;
  for await (const piece of exportLines(test.db, ALL_SOURCES, {}, { format: 'ndjson' })) {
    expect(piece.length).toBeLessThan(2 * MOST_CHARACTERS);
    lines += piece.split('\n').length - 1;
  }
  expect(lines).toBe(EVENTS);
});

it('the sealed forms of long rows are read few at a time', async () => {
  const { first, next } = await readRange(test.db);
  const range = { from: first, to: next, version: SEALED_VERSION };
  const pieces = await readingSealed(test.db, (trx) => Array.fromAsync(sealedEvents(trx, range)));
  for (const piece of pieces) expect(JSON.stringify(piece).length).toBeLessThan(MOST_CHARACTERS);
  const positions = pieces.flatMap((piece) => piece.map(({ position }) => position));
  expect(positions).toEqual(ALL.map((number) => first + number));
});
