import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Db } from '../../src/store/server/database.ts';
import { addDestination } from '../../src/store/destinations/destinations.ts';
import { standIn, type Received, type Reply } from '../forward/senders/stand-in.ts';
import { createTestDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { endOfProgram, PROGRAM, SECRET, startProgram, temporaryDirectory } from '../support/program.ts';
import type { Program } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { storeDeliveries } from '../support/actions.ts';

/** How often the forwarder is killed: `FORWARD_KILLS=50 npx vitest run test/e2e/forward.program.test.ts -t killed` does it 50 times. */
const KILLS = Number(process.env['FORWARD_KILLS'] ?? 2);

/** The tests run at the same time: most of theirs is waiting. */
const cleanUps: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanUp of cleanUps.toReversed()) await cleanUp();
});

/** A database, a directory, and the settings of a program on both. */
async function setUp(destinations: (directory: string) => readonly object[]) {
  const database = await createTestDatabase();
  cleanUps.push(() => database.drop());
  const directory = await temporaryDirectory();
  cleanUps.push(() => rm(directory, { recursive: true, force: true }));
  const file = path.join(directory, 'settings.yaml');
  // JSON is YAML.
  await writeFile(file, JSON.stringify({ destinations: destinations(directory) }));
  const settings = {
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    XIQ_SINK_CONFIG: file,
    HEC_TOKEN: 'token-of-the-tests',
  };
  return { db: database.db, directory, settings };
}

async function start(settings: Record<string, string>, role: string): Promise<Program> {
  const program = await startProgram(settings, '--role', role);
  cleanUps.push(() => program.end('SIGKILL'));
  return program;
}

/** A forwarder that may be killed before it says that it is ready. */
const spawnForwarder = (settings: Record<string, string>): ChildProcess =>
  spawn(PROGRAM, ['serve', '--role', 'forward'], {
    env: { PATH: process.env['PATH'], PORT: '0', ADMIN_PORT: '0', HOST: '127.0.0.1', ...settings },
    stdio: 'ignore',
  });

/** A destination that the stand-in plays, in small batches. */
const splunk = (url: string, more: object = {}) => ({
  name: 'siem',
  type: 'splunk_hec',
  url,
  token: { env: 'HEC_TOKEN' },
  batch: { events: 10 },
  ...more,
});

const Envelope = z.object({ event: z.looseObject({ event_id: z.string(), user_id: z.string() }) });

/** The events of a request, by what they say. */
const eventsOf = ({ body }: Received) =>
  body.split('\n').map((line) => Envelope.parse(JSON.parse(line)).event);

const numbersOf = (request: Received) => eventsOf(request).map((event) => Number(event.user_id));

const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);

/** Stores audit events whose user ids are these numbers, several in a transaction. */
async function storeEvents(db: Db, from: number, count: number): Promise<void> {
  const records = numbers(count).map((number) => auditRecord({ userId: from + number }));
  for (let at = 0; at < count; at += 7) {
    await storeDeliveries(db, queuedDelivery('AUDIT_LOG_ALL', records.slice(at, at + 7)));
  }
}

describe.concurrent('forwarding', () => {
  it('loses nothing when it is killed between sending and writing that down, and repeats only what it had in hand', async () => {
    let victim: ChildProcess | undefined;
    let killAt = Infinity;
    const taken = new Map<string, string[]>();
    let kill = 0;
    await using receiver = await standIn((request, index) => {
      if (index >= killAt) {
        killAt = Infinity;
        victim?.kill('SIGKILL');
        // Every other batch that is in hand has not got through.
        if (kill % 2 === 1) return 'cut';
      }
      for (const event of eventsOf(request)) {
        taken.set(event.event_id, [...(taken.get(event.event_id) ?? []), JSON.stringify(event)]);
      }
      return { json: { code: 0 } };
    });
    const { db, settings } = await setUp(() => [splunk(receiver.url)]);
    const count = 40 * (KILLS + 1);
    await addDestination(db, 'siem', 0);
    await storeEvents(db, 0, count);
    for (; kill < KILLS; kill += 1) {
      killAt = receiver.received.length + (kill % 3);
      victim = spawnForwarder(settings);
      await once(victim, 'exit');
      await forgetTheDead(db);
    }
    await start(settings, 'forward');
    await waitFor(() => taken.size === count);
    const repeated = [...taken.values()].filter(({ length }) => length > 1);
    expect(repeated.length).toBeGreaterThanOrEqual(KILLS / 2);
    expect(repeated.every((texts) => new Set(texts).size === 1)).toBe(true);
    expect([...taken.values()].flat().length - count).toBeLessThanOrEqual(10 * KILLS);
  }, 180_000);

  it('sends each event once where two processes forward', async () => {
    await using receiver = await standIn(() => ({ json: { code: 0 } }));
    const { db, settings } = await setUp(() => [splunk(receiver.url)]);
    const [first] = await Promise.all([start(settings, 'forward'), start(settings, 'forward')]);
    const taken = () => receiver.received.flatMap(numbersOf);
    await storeEvents(db, 0, 200);
    await waitFor(() => taken().length >= 200);
    expect(await first.end('SIGTERM')).toBe(0);
    await storeEvents(db, 200, 100);
    await waitFor(() => taken().length >= 300);
    expect(taken().toSorted((a, b) => a - b)).toEqual(numbers(300));
  });

  it('gets past a receiver that cuts, throttles, fails, keeps silent, and refuses one event', async () => {
    const POISON = 33;
    let isCured = false;
    const troubles: ReadonlyMap<number, Reply> = new Map<number, Reply>([
      [0, 'cut'],
      [2, { status: 429, headers: { 'retry-after': '0' } }],
      [4, { status: 500 }],
      [6, 'silent'],
    ]);
    const taken: number[] = [];
    await using receiver = await standIn((request, index) => {
      const trouble = troubles.get(index);
      if (trouble !== undefined) return trouble;
      const ids = numbersOf(request);
      if (!isCured && ids.includes(POISON)) return { status: 400, json: { code: 6, text: 'Invalid data' } };
      taken.push(...ids);
      return { json: { code: 0 } };
    });
    const { db, settings } = await setUp(() => [splunk(receiver.url, { timeout_seconds: 0.5 })]);
    await start(settings, 'forward');
    await storeEvents(db, 0, 80);
    await waitFor(() => taken.length >= 79);
    expect(taken.toSorted((a, b) => a - b)).toEqual(numbers(80).filter((number) => number !== POISON));

    const rejected = await endOfProgram(settings, 'destinations', 'rejected', 'siem', '--json');
    expect(JSON.parse(rejected.stdout.toString())).toMatchObject({ message_type: 'AUDIT_LOG_ALL' });
    expect(rejected.stdout.toString()).toContain('Invalid data');
    isCured = true;
    expect(await endOfProgram(settings, 'destinations', 'replay', 'siem', '--all')).toMatchObject({
      code: 0,
    });
    expect(taken.at(-1)).toBe(POISON);
  });
});

/** Passes the time for which a process that was killed still counts as the one that sends. */
const forgetTheDead = (db: Db) =>
  sql`update destinations set lease_until = now() - interval '1 s'`.execute(db);
