import { sql } from 'kysely';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { describeDay } from '../../src/console/integrity/read-integrity.ts';
import { verifyNext } from '../../src/seal/verify/verify-in-turn.ts';
import { findEventsById } from '../../src/store/seal/erase.ts';
import { NO_TRACES } from '../../src/store/seal/person-traces.ts';
import { readSealedRanges } from '../../src/store/seal/verifications.ts';
import { startAdmin, type RunningAdmin } from '../support/admin.ts';
import { countAll } from '../support/arrivals.ts';
import { freely } from '../support/tamper.ts';
import { untilSeen } from '../support/until-seen.ts';
import { eventsForTests } from '../support/events-area.ts';
import { factsIn } from '../support/read-page.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { STORED } from '../store/events/varied-events.ts';
import { integrityForTests } from './integrity/integrity-for-tests.ts';
import { eraseOnRecord } from '../support/actions.ts';

/** At once, everything again. */
const NOW = { intervalSeconds: 0, restSeconds: 0 };

const integrity = z.object({
  checkpoint: z.object({ public_key: z.string(), note: z.string() }).nullable(),
  days: z.array(
    z.object({
      day: z.string(),
      events: z.number(),
      word: z.string().nullable(),
      count: z.number().nullable(),
    }),
  ),
  differences: z.array(z.object({ state: z.string(), subject: z.string(), event_id: z.string().nullable() })),
});

const test = useDatabase({ isVaried: true, forEach: true });
let log: SealedLog;
let admin: RunningAdmin;
beforeEach(async () => {
  log = await openSealedLog(test.service);
  admin = await startAdmin(integrityForTests(test.service, test.databaseUrl), test.service);
  await countAll(test.service);
});
afterEach(() => admin.close());

/** The month in which the events were received. */
async function month(): Promise<string> {
  const rows = await test.query<{ month: string }>`
    select to_char(max(received_at) at time zone 'UTC', 'YYYY-MM') as month from events`;
  return rows[0]?.month ?? '';
}

const read = async () => integrity.parse(await admin.get(`/integrity?month=${await month()}`));

async function words(): Promise<Record<string, number>> {
  const { days } = await read();
  expect(days.reduce((sum, { events }) => sum + events, 0)).toBe(STORED);
  return Object.fromEntries(days.flatMap(({ word, count }) => (word === null ? [] : [[word, count ?? 0]])));
}

/** What a certificate says of everything that the service has compared. */
async function allTime(): Promise<string | undefined> {
  const page = await admin.page(`/certificate?month=${await month()}`);
  return /All time<\/dt>\s*<dd>\s*<span class="badge \w+">([^<]*)/.exec(page)?.[1];
}

it('says of a day in order: not sealed yet, not compared yet, intact, erased, altered, missing', async () => {
  await untilSeen(test.db);
  expect(await words()).toEqual({ 'not sealed yet': STORED });
  await log.seal();
  expect(await words()).toEqual({ 'not compared yet': STORED });
  await verifyNext(test.service, NOW);
  expect([await words(), await allTime()]).toEqual([{ intact: STORED }, 'as sealed']);
  const [first, second] = await test.query<{ id: string; at: Date }>`
    select event_id as id, occurred_at as at from audit_events order by id limit 2`;
  if (first === undefined || second === undefined) throw new Error('there are no audit events');
  await freely(test.db, sql`update audit_events set description = 'changed' where event_id = ${second.id}`);
  await verifyNext(test.service, NOW);
  expect([await words(), await allTime()]).toEqual([{ altered: 1 }, 'changed']);
  expect((await read()).differences).toMatchObject([
    { state: 'ALTERED', subject: 'event', event_id: second.id },
  ]);
  await freely(test.db, sql`delete from audit_events where event_id = ${second.id}`);
  await verifyNext(test.service, NOW);
  expect([await words(), await allTime()]).toEqual([{ missing: 1 }, 'changed']);
  const page = await admin.page(`/integrity?month=${await month()}`);
  expect(page).toContain('missing 1');
  const [, size = '', compared = ''] =
    /max="(\d+)" value="(\d+)" aria-label="Compared events"/.exec(page) ?? [];
  expect([Number(size) >= STORED, compared]).toEqual([true, size]);
  const pass = `${Number(size).toLocaleString('en')} of ${Number(size).toLocaleString('en')} events`;
  expect(factsIn(page)).toMatchObject({
    Pass: pass,
    Altered: '0',
    Missing: '1',
    'Not sealed yet': '0 events',
  });
  expect(page).toContain('href="/deliveries?since=');
});

it('calls no day intact whose differences were found, whether or not it names them', async () => {
  await log.seal();
  await verifyNext(test.service, NOW);
  await test.query`update log_verifications set altered = 3, missing = 2`;
  const all = [{ from: 0, to: 1_000_000 }];
  expect(await readSealedRanges(test.service, all, [])).toMatchObject([{ altered: 3, missing: 2 }]);
  expect(await readSealedRanges(test.service, all, [0])).toMatchObject([{ altered: 0, missing: 0 }]);
});

it('counts what was erased on request, by day', async () => {
  await log.seal();
  const rows = await test.query<{ id: string }>`
    select event_id::text as id from audit_events order by event_id limit 3`;
  const ids = rows.map(({ id }) => id);
  const events = await findEventsById(test.service, ids);
  await eraseOnRecord(test.service, { operator: 'jane', reason: 'x' }, { events, ...NO_TRACES });
  await verifyNext(test.service, NOW);
  expect(await words()).toEqual({ erased: events.length });
});

it('shows the key, the checkpoint and the places that keep it', async () => {
  await log.seal();
  await test.query`insert into log_anchors (anchor, size, tried_at, anchored_at, error)
    values ('file', 1, now(), now(), null), ('url', 0, now(), null, 'answered 500')`;
  const { checkpoint } = await read();
  const searching = await startAdmin([eventsForTests(test.db)], test.db);
  const [event] = z
    .object({ items: z.array(z.object({ event_id: z.string() })) })
    .parse(await searching.get('/events?since=2020-01-01&type=AUDIT_LOG_ALL&limit=1')).items;
  expect(factsIn(await searching.page(`/events/${event?.event_id}`))).toMatchObject({
    leaf: expect.stringMatching(/^[\d,]+$/) as unknown,
    'checkpoint of': expect.stringMatching(/^20/) as unknown,
    'prove to others': expect.stringContaining(`xiq-sink prove ${event?.event_id}`) as unknown,
  });
  await searching.close();
  const page = await admin.page('/integrity');
  for (const text of [checkpoint?.public_key, 'answered 500', 'not anchored']) {
    expect(page).toContain(text);
  }
});

it('verifies now, with its progress, and names what differs', async () => {
  await log.seal();
  const [event] = await test.query<{ id: string }>`select event_id as id from audit_events limit 1`;
  await freely(test.db, sql`update audit_events set description = 'changed' where event_id = ${event?.id}`);
  await admin.post('/integrity/verify', {});
  const ended = z.object({
    verification: z.looseObject({ state: z.enum(['done', 'failed']), leaves_done: z.number() }),
  });
  const { verification } = await waitFor(
    async () => ended.safeParse(await admin.get('/integrity/verification')).data,
  );
  expect(verification).toMatchObject({
    state: 'done',
    error: null,
    findings: [{ state: 'ALTERED', event_id: event?.id }],
    result: { altered: 1, missing: 0 },
  });
  expect(verification.leaves_done).toBeGreaterThanOrEqual(STORED);
  const logged = await test.query`select action, outcome from operator_log where action like 'integrity.%'`;
  expect(logged).toEqual([{ action: 'integrity.verify', outcome: 'done' }]);
  expect(await admin.page('/integrity')).toMatch(/1 altered,\s+0 missing/);
  // The console of this test knows no key.
  expect(await admin.page('/integrity')).toContain('This machine has no key of this log');
});
it.each([
  [{ missing: 1, altered: 2, erased: 3 }, 'missing', 1],
  [{ altered: 2, erased: 3, sealed: 8 }, 'altered', 2],
  [{ erased: 3, sealed: 8, compared: 8 }, 'not sealed yet', 2],
  [{ erased: 3, compared: 7 }, 'not compared yet', 3],
  [{ erased: 3 }, 'erased', 3],
  [{}, 'intact', 10],
  [{ to: 5 }, null, null],
])('gives a day the worst of its states, with its number: %j', (found, word, count) => {
  const quiet = { from: 5, to: 15, sealed: 10, compared: 10, erased: 0, altered: 0, missing: 0 };
  expect(describeDay(new Date(0), { ...quiet, comparedSince: null, ...found }, 0)).toMatchObject({
    word,
    count,
  });
});
