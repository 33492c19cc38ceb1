import { exactTerms } from '../../../src/events/search-query.ts';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import type { MessageType } from '../../../src/events/domain.ts';
import { openDatabase } from '../../../src/store/server/database.ts';
import { readSlice } from '../../../src/store/events/read-events.ts';
import { openLog, readRange } from '../../../src/store/log/read-log.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { openSharedEvents, type SharedEvents } from '../../../src/store/events/shared-events.ts';
import { unguarded } from '../../support/database.ts';
import { useDatabase } from '../../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { waitFor } from '../../support/wait-for.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { runs } from '../../support/runs.ts';

const TYPES = ['AUDIT_LOG_ALL', 'EMAIL_LOG_ALL', 'SMS_LOG_ALL'] as const;
const EVENTS = 600;

const test = useDatabase({ logs: true });
beforeAll(async () => {
  const deliveries = Array.from({ length: EVENTS }, (_, number) => {
    const type = TYPES[number % TYPES.length] ?? 'AUDIT_LOG_ALL';
    return queuedDelivery(type, [auditRecord({ id: String(number), userId: number })]);
  });
  await storeDeliveries(test.db, ...deliveries);
  await untilSeen(test.db);
});

const ALL = new Set<MessageType>(TYPES);

async function idsOf(shared: SharedEvents, position: number, limit = EVENTS, types = ALL) {
  const { events, end, isFull } = await shared.read(position, limit, types);
  return { end, isFull, ids: [...events].map(({ eventId }) => eventId) };
}

const deleteLogEntries = (ids: readonly string[]) =>
  unguarded(test.db, (trx) => sql`delete from log_entries where event_id = any(${ids}::uuid[])`.execute(trx));

it('gives every reader what it would read alone', async () => {
  const log = openLog(test.db);
  const shared = openSharedEvents(log);
  shared.join();
  shared.join();
  const { first } = await readRange(test.db);
  const read = fc.tuple(
    fc.integer({ min: 0, max: EVENTS }),
    fc.integer({ min: 1, max: EVENTS }),
    fc.subarray([...TYPES], { minLength: 1 }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(read, { minLength: 1, maxLength: 6 }), async (reads) => {
      await Promise.all(
        reads.map(async ([place, limit, messageTypes]) => {
          const position = first + place;
          const alone = await readSlice(log, ALL_SOURCES, position, limit, {
            terms: exactTerms({ type: messageTypes }),
          });
          expect(await idsOf(shared, position, limit, new Set(messageTypes))).toEqual({
            end: alone.end,
            isFull: alone.isFull,
            ids: [...alone.events].map(({ eventId }) => eventId),
          });
        }),
      );
    }),
    { numRuns: runs(40) },
  );
});

it('reads a row once for several readers, and gives none long after it was deleted', async () => {
  const shared = openSharedEvents(openLog(test.db));
  const leave = shared.join();
  shared.join();
  const { next } = await readRange(test.db);
  const before = await idsOf(shared, next - 3);
  expect(before.ids).toHaveLength(3);
  await deleteLogEntries(before.ids);
  expect(await idsOf(shared, next - 3)).toEqual(before);
  await waitFor(async () => (await idsOf(shared, next - 3)).ids.length < 3, 10_000);

  // A single reader's events are not kept at all.
  leave();
  const { ids } = await idsOf(shared, next - 20);
  await deleteLogEntries(ids);
  expect((await idsOf(shared, next - 20)).ids.length).toBeLessThan(ids.length);
});

it('reads again what could not be read', async () => {
  const log = openLog(test.db);
  const away = openDatabase('postgresql://127.0.0.1:1/none', () => undefined);
  let isDown = true;
  const failing = {
    range: () => log.range(),
    read: (position: number, limit: number) => log.read(position, limit),
    get db() {
      return isDown ? away : test.db;
    },
  };
  const shared = openSharedEvents(failing);
  shared.join();
  shared.join();
  const { first } = await readRange(test.db);
  await expect(shared.read(first, 10, ALL)).rejects.toThrow(/ECONNREFUSED/);
  isDown = false;
  expect((await idsOf(shared, first, 10)).ids).toHaveLength(10);
  await away.destroy();
});
