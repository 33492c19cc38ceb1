import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Db } from '../../src/store/server/database.ts';
import { createTestDatabase } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { postDelivery, runProgram, SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

/** How often the program is killed: `RULE_KILLS=20 npx vitest run test/e2e/rules.program.test.ts -t kills` does it 20 times. */
const KILLS = Number(process.env['RULE_KILLS'] ?? 3);

/** Users who make enough keys for an alert, between two kills. */
const USERS = 5;
const KEYS = 12;

const cleanUps: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
});

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

async function setUp(...more: readonly object[]) {
  const database = await createTestDatabase();
  cleanUps.push(() => database.drop());
  const directory = await temporaryDirectory();
  cleanUps.push(() => rm(directory, { recursive: true, force: true }));
  const file = path.join(directory, 'settings.yaml');
  const events = path.join(directory, 'alerts.ndjson');
  const destination = {
    name: 'file',
    type: 'file',
    path: events,
    format: 'json',
    filter: { rule_alerts: 'only' },
  };
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ destinations: [destination, ...more], alerts: ALERTS }));
  const settings = {
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    XIQ_SINK_CONFIG: file,
  };
  return { db: database.db, settings, events };
}

async function start(settings: Record<string, string>): Promise<Program> {
  const program = await startProgram(settings);
  cleanUps.push(() => program.end('SIGKILL'));
  return program;
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

describe('alert rules', () => {
  it(`raise each alert once through ${KILLS} kills of the program`, async () => {
    const { db, settings, events } = await setUp();
    const users: string[] = [];
    for (let kill = 0; kill <= KILLS; kill += 1) {
      const program = await start(settings);
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
    const stored = await sql`select event_id from other_events where sent_type = 'XIQ_SINK_ALERT'`.execute(
      db,
    );
    expect(stored.rows).toHaveLength(wanted.length);
    // A kill can repeat what was sent just before it, with the same event id.
    const sent = new Map(lines.map((line) => [line.event_id, line.payload.group['user_name'] ?? '']));
    expect([...sent.values()].toSorted()).toEqual(wanted);
    expect(await runProgram(settings, 'alerts', 'list', '--limit', '1', '--json')).toContain(
      '"severity":"high"',
    );
  }, 240_000);

  it('are made of a search by one request, and end by another', async () => {
    const { db, settings, events } = await setUp();
    const program = await start(settings);
    const change = async (route: string, body: object) => {
      const response = await fetch(`${program.adminUrl}/api/v1/saved-searches${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
    };
    await change('/alert', { name: 'Keys of Zoe', line: 'action:private-key-created user:zoe*' });
    const { rows } = await sql<{ name: string }>`select 'search-' || id as name from saved_searches`.execute(
      db,
    );
    const name = rows[0]?.name ?? '';
    const isOn = async () =>
      (await sql`select from rule_progress where rules ? ${name}`.execute(db)).rows.length;
    await waitFor(async () => (await isOn()) === 1);
    await makeKey(program, 'jane@example.com');
    await makeKey(program, 'Zoe@example.com');
    await makeKey(program, 'zoe@example.com');
    const sent = await waitFor(async () => (await readFile(events, 'utf8').catch(() => '')) || undefined);
    expect(sent.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(sent)).toMatchObject({ payload: { rule: name, title: 'Keys of Zoe' } });
    expect(await runProgram(settings, 'alerts', 'list', '--json')).toContain(name);
    expect(await runProgram(settings, 'alerts', 'rules')).toMatch(
      new RegExp(`^${name} +on +medium +Keys of Zoe `, 'm'),
    );
    const page = await (await fetch(`${program.adminUrl}/alerts`)).text();
    expect(page).toContain('Keys of Zoe');
    await change(`/${name.slice('search-'.length)}/alerts`, { state: 'off' });
    await waitFor(async () => (await isOn()) === 0);
    await makeKey(program, 'zoe2@example.com');
    expect(await countAlerts(db)).toBe(1);
  });
});
