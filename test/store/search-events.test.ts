import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBatchStore } from '../../src/handlers/store-batch.ts';
import type { EventFilter } from '../../src/store/event-filter.ts';
import type { EventPosition } from '../../src/store/event-pages.ts';
import { extendLog } from '../../src/store/extend-log.ts';
import { readStretch } from '../../src/store/read-events.ts';
import { openLog, readRange } from '../../src/store/read-log.ts';
import { searchEvents } from '../../src/store/search-events.ts';
import { ALL_SOURCES } from '../../src/store/scope.ts';
import { createTestDatabase } from '../support/database.ts';
import type { TestDatabase } from '../support/database.ts';
import { untilSeen } from '../support/until-seen.ts';
import { waitFor } from '../support/wait-for.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';

const START = Date.UTC(2026, 0, 1);
const HOUR = 3_600_000;

let test: TestDatabase;
beforeAll(async () => {
  test = await createTestDatabase();
  const audits = Array.from({ length: 40 }, (_, n) =>
    auditRecord({
      timeStamp: START + n * HOUR,
      userName: `user${n % 4}`,
      code: 10_000 + (n % 2),
      description: `50%_${n}\\`,
    }),
  );
  const sightings = [
    { clientMac: 'AABBCCDDEEFF', seenEpoch: START, deviceObservers: [{ apMac: '001122334455' }] },
  ];
  await createBatchStore(
    test.db,
    pino({ level: 'silent' }),
    new AbortController().signal,
  )({
    deliveries: [
      queuedDelivery('AUDIT_LOG_ALL', audits),
      queuedDelivery('LOCATION_CLIENT_CENTRIC', sightings, { source: 'branch' }),
    ],
  });
});
afterAll(() => test.drop());

const search = (filter: EventFilter) => searchEvents(test.db, ALL_SOURCES, filter, { limit: 1000 });

describe('searching events', () => {
  it.each<[string, EventFilter, number]>([
    ['everything', {}, 41],
    ['a message type', { messageTypes: ['AUDIT_LOG_ALL'] }, 40],
    ['a user', { user: 'user3' }, 10],
    ['a code', { code: '10001' }, 20],
    ['a user and a code that exclude each other', { user: 'user0', code: '10001' }, 0],
    ['the MAC of a client', { mac: 'aabbccddeeff' }, 1],
    ['the MAC of an access point, in another notation', { mac: '00:11:22:33:44:55' }, 1],
    ['a source', { source: 'branch' }, 1],
    [
      'a time range, its start included and its end not',
      { since: new Date(START), until: new Date(START + HOUR) },
      2,
    ],
    ['text, whatever its case', { text: 'VHM-example' }, 40],
    ['text with the wildcards of like, taken literally', { text: '50%_7' }, 1],
    ['a backslash', { text: '_7\\' }, 1],
  ])('finds by %s', async (_name, filter, expected) => {
    expect(await search(filter)).toHaveLength(expected);
  });

  it('gives newest first, in pages that neither repeat nor leave out', async () => {
    const all = await search({});
    const times = all.map((event) => Date.parse(event.occurredAt));
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    const paged: string[] = [];
    let after: EventPosition | undefined;
    for (;;) {
      const page = await searchEvents(test.db, ALL_SOURCES, {}, { limit: 7, after });
      paged.push(...page.map((event) => event.id));
      const last = page.at(-1);
      if (last === undefined) break;
      after = { occurredAt: new Date(last.occurredAt), eventId: last.eventId };
    }
    expect(paged).toEqual(all.map((event) => event.id));
  });
});

describe('following events', () => {
  const readAll = async (position: number) => {
    await extendLog(test.db);
    return [...(await readStretch(openLog(test.db), ALL_SOURCES, position, 10)).events];
  };

  it('misses none when transactions commit in another order than they began', async () => {
    await untilSeen(test.db);
    const { next: position } = await readRange(test.db);
    const insert = `insert into audit_events
      (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, user_name, payload)
      values (now(), now(), gen_random_uuid(), gen_random_uuid(), 's', 'AUDIT_LOG_ALL', 'webhook', $1, '{}')`;
    const slow = new Client({ connectionString: test.databaseUrl });
    const fast = new Client({ connectionString: test.databaseUrl });
    await Promise.all([slow.connect(), fast.connect()]);
    try {
      await slow.query('begin');
      await slow.query(insert, ['slow']);
      await fast.query(insert, ['fast']);
      expect(await readAll(position)).toEqual([]);
      await slow.query('commit');
      // A transaction in another database of the server, which other tests use, holds them back as well.
      const all = await waitFor(async () => {
        const events = await readAll(position);
        return events.length > 0 ? events : undefined;
      });
      expect(all.map((event) => event.columns['user_name'])).toEqual(['slow', 'fast']);
      const [first] = all;
      const rest = await readAll((first?.position ?? 0) + 1);
      expect(rest.map((event) => event.columns['user_name'])).toEqual(['fast']);
    } finally {
      await Promise.all([slow.end(), fast.end()]);
    }
  });
});
