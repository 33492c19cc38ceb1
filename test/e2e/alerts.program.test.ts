import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { createTestDatabase } from '../support/database.ts';
import { runProgram, SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

const alert = (number: number, more: object = {}) => ({
  id: `a-${number}`,
  owner_id: 1,
  timestamp: new Date().toISOString(),
  summary: `Access point ap-${number} is offline`,
  severity_id: 1,
  severity_name: 'Critical',
  source: { source_type: 'DEVICE', source_id: String(number), source_name: `ap-${number}` },
  acknowledged: false,
  ...more,
});

const lines = async (file: string) => {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
};

it('stores, finds and forwards alerts in all their forms', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const directory = await temporaryDirectory();
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const forwarded = path.join(directory, 'events.jsonl');
  const settings = {
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    FORWARD_TO: `file://${forwarded}`,
  };
  const program = await startProgram(settings);
  onTestFinished(async () => void (await program.end('SIGKILL')));

  const twin = alert(4);
  const bodies = [
    [alert(1), alert(2)],
    alert(3, { someNewMember: { deep: [1.0] } }),
    { summary: 'An alert without anything else' },
    [twin, twin],
  ];
  for (const body of bodies) {
    const response = await fetch(`${program.url}/ingest/default/ALERT`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}` },
      body: JSON.stringify(body),
    });
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ quarantined: 0 }),
    ]);
  }
  await waitFor(async () => (await lines(forwarded)).length === 6);

  const { rows } = await sql`
    select summary, severity_id, severity_name, alert_source_name, acknowledged,
           payload->'someNewMember' as more from alert_log where alert_source_name = 'ap-3'`.execute(
    database.db,
  );
  expect(rows).toEqual([
    {
      summary: 'Access point ap-3 is offline',
      severity_id: '1',
      severity_name: 'Critical',
      alert_source_name: 'ap-3',
      acknowledged: false,
      more: { deep: [1] },
    },
  ]);
  expect((await sql`select adds_up from conservation`.execute(database.db)).rows).toEqual([
    { adds_up: true },
  ]);

  const search = (...args: string[]) => runProgram(settings, 'events', 'search', '--json', ...args);
  const found = (await search('--device', 'ap-2', '--type', 'ALERT')).trim().split('\n');
  expect(found.map((line): unknown => JSON.parse(line))).toEqual([
    expect.objectContaining({
      message_type: 'ALERT',
      family: 'alerts',
      description: 'Access point ap-2 is offline',
    }),
  ]);
  expect((await search('--text', 'without anything else')).trim().split('\n')).toHaveLength(1);

  const Forwarded = z.object({ message_type: z.literal('ALERT'), summary: z.string() });
  const summaries = (await lines(forwarded)).map((line) => Forwarded.parse(JSON.parse(line)).summary);
  expect(summaries.toSorted()).toEqual([
    'Access point ap-1 is offline',
    'Access point ap-2 is offline',
    'Access point ap-3 is offline',
    'Access point ap-4 is offline',
    'Access point ap-4 is offline',
    'An alert without anything else',
  ]);
});
