import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { z } from 'zod';
import type { Db } from '../../src/store/server/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { databaseForTest, directoryForTest, serveForTest, settingsFile } from '../support/for-one-test.ts';
import { postDelivery, runProgram } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

/** How often the program is killed: `RULE_KILLS=20 npx vitest run test/e2e/rules.program.test.ts` does it 20 times. */
const KILLS = Number(process.env['RULE_KILLS'] ?? 3);

/** Users who make enough keys for an alert, between two kills. */
const USERS = 5;
const KEYS = 12;

const ALERTS = [
  {
    name: 'keys',
    title: 'Keys made',
    severity: 'high',
    filter: { kinds: ['ppskCreated'] },
    count: KEYS,
    within: '1h',
    group_by: ['user_name'],
  },
];

async function setUp() {
  const { db, databaseUrl } = await databaseForTest();
  const DATA_DIR = await directoryForTest();
  const events = path.join(DATA_DIR, 'alerts.ndjson');
  const filter = { rule_alerts: 'only' };
  const destination = { name: 'file', type: 'file', path: events, format: 'json', filter };
  const XIQ_SINK_CONFIG = await settingsFile({ destinations: [destination], alerts: ALERTS });
  return { db, settings: { DATABASE_URL: databaseUrl, DATA_DIR, XIQ_SINK_CONFIG }, events };
}

let number = 0;

/** Sends one key of a user, until it is accepted. */
async function makeKey({ url }: Program, userName: string): Promise<void> {
  number += 1;
  const record = auditRecord({ code: 40_001, userName, userId: number });
  const response = await postDelivery({ url }, 'AUDIT_LOG_ALL', record);
  expect(response.status).toBe(200);
}

/** Rules begin with what is stored after the first time that they are on. */
const untilOn = (db: Db) =>
  waitFor(
    async () => (await sql`select from rule_progress where rules <> '{}'`.execute(db)).rows.length === 1,
  );

async function countAlerts(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*)::int from alerts`.execute(db);
  return rows[0]?.count ?? 0;
}

const Line = z.object({
  event_id: z.string(),
  payload: z.looseObject({ group: z.record(z.string(), z.string()) }),
});

it(`alert rules raise each alert once through ${KILLS} kills of the program`, async () => {
  const { db, settings, events } = await setUp();
  const users: string[] = [];
  for (let kill = 0; kill <= KILLS; kill += 1) {
    const program = await serveForTest(settings);
    await untilOn(db);
    const own = Array.from({ length: USERS }, (_, user) => `user${kill}-${user}@example.com`);
    users.push(...own);
    for (let key = 0; key < KEYS; key += 1) await Promise.all(own.map((user) => makeKey(program, user)));
    if (kill === KILLS) break;
    // Each time at another point of the way: before the first alert, between two of them, after the last.
    const least = users.length - USERS + (kill % 3) * Math.floor(USERS / 2);
    await waitFor(async () => (await countAlerts(db)) >= least);
    await program.end('SIGKILL');
  }
  const wanted = users.toSorted();
  const lines = await waitFor(async () => {
    const text = await readFile(events, 'utf8').catch(() => '');
    const read = text.split('\n').flatMap((line) => (line === '' ? [] : [Line.parse(JSON.parse(line))]));
    return new Set(read.map((line) => line.event_id)).size >= wanted.length ? read : undefined;
  });
  const { rows } = await sql<{ user: string; count: number }>`
      select grouped_by->>'user_name' as "user", event_count as count from alerts order by 1`.execute(db);
  expect(rows.map(({ user }) => user)).toEqual(wanted);
  expect(new Set(rows.map(({ count }) => count))).toEqual(new Set([KEYS]));
  const stored = await sql`select event_id from other_events where sent_type = 'XIQ_SINK_ALERT'`.execute(db);
  expect(stored.rows).toHaveLength(wanted.length);
  // A kill can repeat what was sent just before it, with the same event id.
  const sent = new Map(lines.map((line) => [line.event_id, line.payload.group['user_name'] ?? '']));
  expect([...sent.values()].toSorted()).toEqual(wanted);
  expect(await runProgram(settings, 'alerts', 'list', '--limit', '1', '--json')).toContain(
    '"severity":"high"',
  );
}, 240_000);
