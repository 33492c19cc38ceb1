import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { OutageError } from '../../src/lib/errors.ts';
import type { BatchLimits } from '../../src/forward/batch-events.ts';
import { destinationFilterSchema } from '../../src/forward/destination-filter.ts';
import { startForwarding } from '../../src/forward/forward-events.ts';
import { openForwardingSource } from '../../src/forward/forwarding-source.ts';
import { BatchRefusedError, EndpointRefusedError, RetryLaterError } from '../../src/forward/sender.ts';
import type { Message, Sender } from '../../src/forward/sender.ts';
import {
  addDestination,
  listDestinations,
  moveCursor,
  setState,
} from '../../src/store/destinations/destinations.ts';
import { listRejected } from '../../src/store/destinations/rejected-events.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { storeDeliveries } from '../support/actions.ts';
import { emptyTables } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';
import { untilSeen } from '../support/until-seen.ts';

/** The lines of the log. */
const logged: Record<string, unknown>[] = [];
const createLogger = () =>
  pino(
    { level: 'warn' },
    { write: (line: string) => void logged.push(z.record(z.string(), z.unknown()).parse(JSON.parse(line))) },
  );
let logger = createLogger();
const START = 0;

const test = useDatabase({ logs: true });
const running: { stop(): Promise<void> }[] = [];
beforeEach(async () => {
  logged.length = 0;
  // A log knows for a minute why a destination failed.
  logger = createLogger();
  await emptyTables(test.db);
  await test.db.deleteFrom('destinations').execute();
  await test.db.deleteFrom('rejected_events').execute();
  await addDestination(test.db, 'siem', START);
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
});

/** Stores audit events that carry these numbers as their user ids, in one transaction. */
async function storeEvents(...numbers: number[]): Promise<void> {
  const records = numbers.map((userId) => auditRecord({ userId }));
  await storeDeliveries(test.db, queuedDelivery('AUDIT_LOG_ALL', records));
}

const numberOf = ({ event }: Message) => Number(event.columns['user_id']);

const range = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** A destination that takes everything, unless the test says otherwise, and what it took. */
function collector(send?: Sender['send']) {
  const taken: number[] = [];
  const sender: Sender = {
    async send(batch) {
      const refusals = (await send?.(batch)) ?? [];
      const refused = new Set(refusals.map(({ index }) => index));
      taken.push(...batch.filter((_, index) => !refused.has(index)).map(numberOf));
      return refusals;
    },
    close: async () => undefined,
  };
  return { taken, sender };
}

function forward(
  sender: Sender,
  filter: object = {},
  limits: Partial<BatchLimits> = {},
  source = openForwardingSource(test.db),
) {
  const forwarding = startForwarding(
    {
      name: 'siem',
      sender,
      filter: destinationFilterSchema.parse(filter),
      format: ({ payload }) => JSON.stringify(payload),
      limits: { events: 50, bytes: 900_000, seconds: 0, ...limits },
    },
    source,
    logger,
  );
  running.push(forwarding);
  return forwarding;
}

const status = async () => {
  const [siem] = await listDestinations(test.db);
  if (siem === undefined) throw new Error('the destination is gone');
  return siem;
};

describe('forwarding', () => {
  it('sends every event once, in the order of storing, those stored later too', async () => {
    await storeEvents(...range(20));
    const { taken, sender } = collector();
    forward(sender, {}, { events: 7 });
    await waitFor(() => taken.length >= 20);
    await storeEvents(21);
    await waitFor(() => taken.length >= 21);
    expect(taken).toEqual(range(21));
    await waitFor(async () => (await status()).behind_count === 0);
    expect(await status()).toMatchObject({ sent_count: '21', last_error: null, state: 'running' });
  });

  it('lets a batch wait until it is full or its time is over', async () => {
    const batches: number[] = [];
    const { taken, sender } = collector(async (batch) => {
      batches.push(batch.length);
      return [];
    });
    forward(sender, {}, { events: 10, seconds: 3_600 });
    await storeEvents(...range(4));
    await storeEvents(...range(10).slice(4));
    await waitFor(() => taken.length >= 10);
    expect(batches).toEqual([10]);
    await running.at(-1)?.stop();
    await storeEvents(11);
    await untilSeen(test.db);
    const began = performance.now();
    forward(sender, {}, { events: 10, seconds: 1 });
    await waitFor(() => taken.length >= 11);
    expect(performance.now() - began).toBeGreaterThanOrEqual(1_000);
    expect(batches).toEqual([10, 1]);
    expect(taken).toEqual(range(11));
  });

  it('lets a batch wait for its time where a filter may leave out most events', async () => {
    const { taken, sender } = collector();
    await storeEvents(...range(20));
    await untilSeen(test.db);
    const source = openForwardingSource(test.db);
    let looks = 0;
    const counted = (name: string) => {
      looks += 1;
      return source.cursor(name);
    };
    const filter = { families: ['audit'] };
    forward(sender, filter, { events: 10, seconds: 3_600 }, { ...source, cursor: counted });
    // It looks again only when it has finished what it found.
    await waitFor(() => looks >= 3);
    expect(taken).toEqual([]);
    await running.at(-1)?.stop();
    forward(sender, filter, { events: 10, seconds: 0.3 });
    await waitFor(() => taken.length >= 20);
    expect(taken).toEqual(range(20));
  });

  it('skips nothing of transactions that commit in another order than they took their ids', async () => {
    const { taken, sender } = collector();
    forward(sender);
    await test.db.connection().execute(async (slow) => {
      await sql`begin`.execute(slow);
      // The others are received at a whole millisecond, which can be that of `now()`.
      await sql`insert into audit_events (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, user_id, payload)
        values (now(), now() - interval '1 second', gen_random_uuid(), gen_random_uuid(), 'default', 'AUDIT_LOG_ALL', 'webhook', 1, '{}')`.execute(
        slow,
      );
      await storeEvents(2);
      await storeEvents(3);
      expect((await status()).behind_count).toBe(0);
      await sql`commit`.execute(slow);
    });
    await waitFor(() => taken.length >= 3);
    expect(taken).toEqual([1, 2, 3]);
  });

  it('is done by one of two processes, and by the other once the first has gone', async () => {
    const { taken, sender } = collector();
    const first = forward(sender);
    forward(sender);
    await storeEvents(...range(100));
    await waitFor(() => taken.length >= 100);
    await first.stop();
    await storeEvents(101);
    await waitFor(() => taken.length >= 101);
    expect(taken).toEqual(range(101));
  });

  it('sets the one event aside that poisons its batch, and sends the rest', async () => {
    const { taken, sender } = collector(async (batch) => {
      if (batch.some((message) => numberOf(message) === 13)) throw new BatchRefusedError('mapping failed');
      return [];
    });
    await storeEvents(...range(40));
    forward(sender);
    await waitFor(() => taken.length >= 39);
    expect(taken).toEqual(range(40).filter((n) => n !== 13));
    await waitFor(async () => (await status()).rejected_count === 1);
    const [rejected] = await listRejected(test.db, ALL_SOURCES, 'siem', 10);
    expect(rejected).toMatchObject({
      reason: 'mapping failed',
      message_type: 'AUDIT_LOG_ALL',
      replayed_at: null,
    });
  });

  it('counts what is refused across batches and restarts, and stops at the tenth, of which nothing is lost', async () => {
    let welcome = false;
    const { taken, sender } = collector(async () => {
      if (!welcome) throw new BatchRefusedError('400 no such field');
      return [];
    });
    for (const numbers of [[1, 2], [3], [4, 5, 6, 7, 8, 9]]) {
      const forwarding = forward(sender, {}, { events: 4 });
      await storeEvents(...numbers);
      await waitFor(async () => (await status()).rejected_count === numbers.at(-1));
      await forwarding.stop();
    }
    expect(await status()).toMatchObject({
      state: 'running',
      rejected_in_row: 9,
      last_error: 'rejected an event: 400 no such field',
    });
    forward(sender);
    await storeEvents(10);
    await waitFor(async () => (await status()).state === 'refused');
    expect(await status()).toMatchObject({ rejected_count: 9, behind_count: 1, sent_count: '0' });
    expect((await status()).last_error).toMatch(/rejected at least 10 events.*400 no such field/);
    const reasons = logged.map(({ event_id }) => event_id).filter((id) => id !== undefined);
    const rejected = await listRejected(test.db, ALL_SOURCES, 'siem', 100);
    expect(reasons).toHaveLength(9);
    expect(new Set(reasons)).toEqual(new Set(rejected.map(({ event_id }) => event_id)));

    welcome = true;
    await setState(test.db, 'siem', 'running');
    await waitFor(async () => (await status()).sent_count === '1');
    expect(taken).toEqual([10]);
    expect(await status()).toMatchObject({ rejected_count: 9, rejected_in_row: 0, last_error: null });
  });

  it('sets aside many in a row that an accepted event follows, in another batch too', async () => {
    const { taken, sender } = collector(async (batch) =>
      batch.flatMap((message, index) => {
        const number = numberOf(message);
        return number > 5 && number <= 17 ? [{ index, reason: 'no such field' }] : [];
      }),
    );
    await storeEvents(...range(22));
    await untilSeen(test.db);
    forward(sender, {}, { events: 17, bytes: 900_000 });
    await waitFor(async () => (await status()).behind_count === 0);
    expect(await status()).toMatchObject({ state: 'running', rejected_count: 12, last_error: null });
    expect(taken).toEqual(range(22).filter((n) => n <= 5 || n > 17));
  });

  it('goes on if the destination accepts the last accepted event again', async () => {
    const { taken, sender } = collector(async (batch) => {
      if (batch.some((message) => numberOf(message) % 100 > 1)) throw new BatchRefusedError('413');
      return [];
    });
    forward(sender, {}, { events: 25 });
    await storeEvents(1);
    await waitFor(() => taken.length === 1);
    await storeEvents(...range(31).slice(1), 101);
    await waitFor(() => taken.includes(101));
    expect(taken).toEqual([1, 1, 101]);
    await waitFor(async () => (await status()).sent_count === '3');
    expect(await status()).toMatchObject({ state: 'running', rejected_count: 30, last_error: null });
  });

  it('counts anew when an operator pauses and resumes while a batch is sent', async () => {
    const { promise: isResumed, resolve: onResume } = Promise.withResolvers<void>();
    let isSending = false;
    const { sender } = collector(async (batch) => {
      isSending = batch.some((message) => numberOf(message) === 10);
      if (isSending) await isResumed;
      throw new BatchRefusedError('400');
    });
    await storeEvents(...range(10));
    await untilSeen(test.db);
    forward(sender, {}, { events: 1, bytes: 900_000 });
    await waitFor(() => isSending);
    expect(await status()).toMatchObject({ rejected_in_row: 9 });
    await setState(test.db, 'siem', 'paused');
    await setState(test.db, 'siem', 'running');
    onResume();
    await waitFor(async () => (await status()).rejected_count === 10);
    expect(await status()).toMatchObject({ state: 'running', rejected_in_row: 1 });
  });

  it('waits through an outage and goes on where it was', async () => {
    let failures = 0;
    const { taken, sender } = collector(async () => {
      failures += 1;
      if (failures === 1) throw new OutageError('connection reset');
      return [];
    });
    await storeEvents(...range(10));
    forward(sender);
    await waitFor(async () => (await status()).last_error === 'connection reset');
    await waitFor(() => taken.length >= 10);
    expect(taken).toEqual(range(10));
  });

  it.each([
    [1_500, '1.5'],
    [3_600_000, '300.0'],
    [-1, '1.0'],
  ])('waits when the destination says %i ms, for %s s', async (afterMs, seconds) => {
    const { sender } = collector(async () => {
      throw new RetryLaterError('busy', afterMs);
    });
    await storeEvents(1);
    forward(sender);
    const { msg } = await waitFor(() => logged[0]);
    expect(msg).toBe(`destination siem failed, retrying in ${seconds} s: busy`);
  });

  it('stops where the destination refuses us, until a person lets it go on', async () => {
    let welcome = false;
    const { taken, sender } = collector(async () => {
      if (!welcome) throw new EndpointRefusedError('401 Unauthorized');
      return [];
    });
    await storeEvents(...range(5));
    forward(sender);
    await waitFor(async () => (await status()).state === 'refused');
    expect((await status()).rejected_count).toBe(0);
    welcome = true;
    await setState(test.db, 'siem', 'running');
    await waitFor(() => taken.length >= 5);
  });

  it('knows at once of a refusal that it has recorded itself', async () => {
    const source = openForwardingSource(test.db);
    const holder = { name: 'siem', holder: randomUUID() };
    await source.lease(holder);
    expect(await source.cursor('siem')).toMatchObject({ state: 'running' });
    await source.recordFailure(holder, '401', 'refused');
    expect(await source.cursor('siem')).not.toMatchObject({ state: 'running' });
    expect(await source.lease(holder)).toMatchObject({ state: 'refused' });
  });

  it('can be paused, resumed and rewound while it runs', async () => {
    const { taken, sender } = collector();
    await storeEvents(...range(5));
    forward(sender);
    await waitFor(() => taken.length >= 5);
    await setState(test.db, 'siem', 'paused');
    await storeEvents(6);
    await moveCursor(test.db, 'siem', START);
    await waitFor(async () => (await status()).behind_count === 6);
    expect(taken).toHaveLength(5);
    await setState(test.db, 'siem', 'running');
    await waitFor(() => taken.length >= 11);
    expect(taken).toEqual([...range(5), ...range(6)]);
  });

  it('keeps a rewind that comes while a batch is sent', async () => {
    let isRewound = false;
    const { taken, sender } = collector(async (batch) => {
      if (!isRewound && batch.some((message) => numberOf(message) === 6)) {
        isRewound = await moveCursor(test.db, 'siem', START);
      }
      return [];
    });
    await storeEvents(...range(5));
    forward(sender);
    await waitFor(async () => (await status()).behind_count === 0);
    await storeEvents(6);
    await waitFor(() => taken.length >= 12);
    expect(taken).toEqual([...range(6), ...range(6)]);
  });

  it('sends nothing more of a batch under a lease that another process has taken', async () => {
    const lease = { lease_holder: randomUUID(), lease_until: sql<Date>`now() + interval '1 hour'` };
    let isTaken = false;
    const { taken, sender } = collector(async () => {
      if (!isTaken) await test.db.updateTable('destinations').set(lease).execute();
      isTaken = true;
      return [];
    });
    await storeEvents(...range(6));
    await untilSeen(test.db);
    forward(sender, {}, { events: 2 });
    await waitFor(() => isTaken);
    await waitFor(async () => (await status()).lease_holder === lease.lease_holder);
    await test.db.updateTable('destinations').set({ lease_holder: null, lease_until: null }).execute();
    await waitFor(async () => (await status()).behind_count === 0);
    expect(taken).toEqual([1, 2, ...range(6)]);
  });

  it.each(['an outage', 'a refusal'])('stays paused after %s of a batch that was under way', async (what) => {
    const { sender } = collector(async () => {
      await setState(test.db, 'siem', 'paused');
      throw what === 'an outage' ? new OutageError('it is away') : new EndpointRefusedError('401');
    });
    await storeEvents(1);
    forward(sender);
    await waitFor(async () => (await status()).last_error !== null);
    expect((await status()).state).toBe('paused');
  });

  it.each(['another process has', 'an operator has just paused'])(
    'sends nothing under a lease that %s',
    async (what) => {
      const { taken, sender } = collector();
      const source = openForwardingSource(test.db);
      let looks = 0;
      await storeEvents(1);
      await untilSeen(test.db);
      forward(
        sender,
        {},
        {},
        {
          ...source,
          async lease(holder) {
            const lease = await source.lease(holder);
            return lease && what.startsWith('an operator') ? { ...lease, state: 'paused' } : undefined;
          },
          async nextLook() {
            looks += 1;
            await source.nextLook();
          },
        },
      );
      await waitFor(() => looks > 1);
      expect(taken).toEqual([]);
    },
  );

  it('gives a batch up that is not taken in time, and leaves the events to the next', async () => {
    const { sender } = collector(() => new Promise(() => undefined));
    await storeEvents(...range(5));
    await untilSeen(test.db);
    const stuck = forward(sender);
    await waitFor(async () => (await status()).lease_holder !== null);
    await stuck.stop(100);
    running.pop();
    expect(await status()).toMatchObject({ lease_holder: null, behind_count: 5 });
  });

  it('passes what its filter leaves out', async () => {
    await storeDeliveries(test.db, queuedDelivery('SMS_LOG_ALL', [{ tel: '+1' }]));
    await storeEvents(...range(10));
    await storeDeliveries(test.db, queuedDelivery('SMS_LOG_ALL', [{ tel: '+2' }]));
    await untilSeen(test.db);
    const { taken, sender } = collector();
    forward(sender, { families: ['audit'], users: ['ADMIN@*'] });
    await waitFor(async () => (await status()).behind_count === 0);
    expect(taken).toEqual(range(10));
  });
});
