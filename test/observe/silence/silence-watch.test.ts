import { pino } from 'pino';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { assessSilences } from '../../../src/observe/silence/assess-silences.ts';
import { createSilenceWatch } from '../../../src/observe/silence/silence-watch.ts';
import { emptyTables } from '../../support/database.ts';
import { useDatabase } from '../../support/use-database.ts';

const database = useDatabase();

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** On the minute, so that silences are whole ones. */
const NOW = new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS);
const after = (minutes: number) => new Date(NOW.getTime() + minutes * MINUTE_MS);

const SOURCES = ['a', 'b'];

/** One a minute from each source, for three weeks; the older one of them known by the hour. */
beforeAll(async () => {
  await database.query`
    insert into arrivals (bucket, seconds, source, message_type, deliveries, records, expected, events, duplicates,
      quarantined, bytes, unbalanced, last_received_at)
    select bucket, 60, source, 'AUDIT_LOG_ALL', 1, 1, 1, 1, 0, 0, 100, 0, bucket
    from generate_series(${new Date(NOW.getTime() - 14 * DAY_MS)}, ${NOW}::timestamptz, '1 minute') as bucket,
      unnest(${SOURCES}::text[]) as source
    union all
    select bucket, 3600, source, 'AUDIT_LOG_ALL', 60, 60, 60, 60, 0, 0, 6000, 0, bucket
    from generate_series(date_bin('1 hour', ${new Date(NOW.getTime() - 21 * DAY_MS)}, 'epoch'),
        ${new Date(NOW.getTime() - 14 * DAY_MS - 120 * MINUTE_MS)}::timestamptz, '1 hour') as bucket,
      unnest(${SOURCES}::text[]) as source`;
});
beforeEach(async () => {
  await emptyTables(database.db);
  await database.query`truncate arrival_totals, subscriptions`;
  await database.query`delete from arrivals where bucket > ${NOW}`;
  await database.query`update arrivals_progress set next_xid = pg_snapshot_xmin(pg_current_snapshot())`;
  await database.query`
    insert into arrival_totals
    select source, 'AUDIT_LOG_ALL', 1, 1, 1, 1, 0, 0, 1, 0, ${NOW}::timestamptz from unnest(${SOURCES}::text[]) as source`;
});

/** Something arrives, and is stored at once or after so many minutes. */
const arrive = (source: string, at: Date, minutesLater = 0) =>
  database.query`
    insert into deliveries (delivery_id, received_at, stored_at, body_bytes, record_count, expected_count, event_count,
      duplicate_count, quarantined_count, source, message_type, origin)
    values (gen_random_uuid(), ${at}, ${at}::timestamptz + make_interval(mins => ${minutesLater}), 1, 1, 1, 1, 0, 0,
      ${source}, 'AUDIT_LOG_ALL', 'webhook')`;

const Line = z.object({ level: z.number(), msg: z.string() });

/** A watch, and the lines that it has logged since the last call. */
function watched() {
  const lines: string[] = [];
  const write = (text: string) => {
    const { level, msg } = Line.parse(JSON.parse(text));
    lines.push(`${level === 40 ? 'warn' : 'info'} ${msg}`);
  };
  const watch = createSilenceWatch(database.db, pino({ level: 'info' }, { write }));
  return { ...watch, logged: () => lines.splice(0) };
}

test('a type that stops is reported once, and its return once', async () => {
  const watch = watched();
  await watch.look(NOW);
  await arrive('b', after(29));
  await watch.look(after(30));
  expect(watch.logged()).toEqual([
    expect.stringMatching(
      /^warn AUDIT_LOG_ALL from a is unusually quiet: nothing for 30 min.*; about 30 deliveries usually arrive/,
    ),
  ]);
  expect(watch.latest()).toMatchObject([
    { source: 'a', state: 'unusual', silentSeconds: 1800 },
    { source: 'b', state: 'usual', silentSeconds: 60, lastReceivedAt: after(29) },
  ]);
  await arrive('b', after(30));
  await watch.look(after(31));
  expect(watch.logged()).toEqual([]);
  await arrive('a', after(31));
  await arrive('b', after(31));
  await watch.look(after(32));
  expect(watch.logged()).toEqual(['info AUDIT_LOG_ALL from a arrives again']);
});

test('if nothing arrives at all, one line reports it, and types that stay silent afterwards are reported again', async () => {
  const watch = watched();
  await watch.look(NOW);
  await watch.look(after(40));
  expect(watch.logged()).toEqual(['warn no deliveries from any source for 40 min, which is unusual']);
  await watch.look(after(50));
  expect(watch.logged()).toEqual([]);
  await arrive('b', after(60));
  await watch.look(after(61));
  expect(watch.logged()).toEqual(['info deliveries are arriving again']);
  await arrive('b', after(100));
  await watch.look(after(101));
  expect(watch.logged()).toEqual([expect.stringContaining('warn AUDIT_LOG_ALL from a is unusually quiet')]);
});

test('what lies before the first look is no silence: we may have been down', async () => {
  const watch = watched();
  await watch.look(after(300));
  expect(watch.logged()).toEqual([]);
  await watch.look(after(304));
  expect(watch.logged()).toEqual([]);
  await watch.look(after(340));
  expect(watch.logged()).toHaveLength(1);
});

test('while what arrived before is still being stored, nothing is judged', async () => {
  const watch = watched();
  await watch.look(NOW);

  const minutes = Math.ceil((Date.now() - NOW.getTime()) / MINUTE_MS) + 40;
  await arrive('a', after(1 - minutes), minutes);
  await watch.look(after(40));
  expect(watch.logged()).toEqual([]);
});

test('a subscribed type that never came is known as such, and one of no type is not looked at', async () => {
  await database.query`insert into subscriptions (source, message_type, url, application, status)
    values ('a', 'SMS_LOG_ALL', 'u', 'x', 'ENABLED'), ('a', 'EMAIL_LOG_ALL', 'u', 'x', 'DISABLED')`;
  await database.query`insert into arrival_totals values ('a', 'UNKNOWN', 1, 1, 1, 1, 0, 0, 1, 0, ${NOW})`;
  const silences = await assessSilences(database.db, NOW);
  expect(silences.map(({ source, messageType, state }) => [source, messageType, state])).toEqual([
    ['a', 'AUDIT_LOG_ALL', 'usual'],
    ['a', 'SMS_LOG_ALL', 'never'],
    ['b', 'AUDIT_LOG_ALL', 'usual'],
  ]);
  expect(silences[1]?.lastReceivedAt).toBeUndefined();
});
