import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { addDestination } from '../../src/store/destinations/destinations.ts';
import { standIn } from '../support/stand-in.ts';
import { storeAudits } from '../support/actions.ts';
import { databaseForTest, directoryForTest, serveForTest, settingsFile } from '../support/for-one-test.ts';
import { PROGRAM } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';

/** How often the forwarder is killed: `FORWARD_KILLS=50 npx vitest run test/e2e/forward.program.test.ts` does it 50 times. */
const KILLS = Number(process.env['FORWARD_KILLS'] ?? 2);

const BATCH = 10;

/** A forwarder that may be killed before it says that it is ready. */
const spawnForwarder = (settings: Record<string, string>): ChildProcess =>
  spawn(PROGRAM, ['serve', '--role', 'forward'], {
    env: { PATH: process.env['PATH'], PORT: '0', ADMIN_PORT: '0', HOST: '127.0.0.1', ...settings },
    stdio: 'ignore',
  });

const Envelope = z.object({ event: z.looseObject({ event_id: z.string() }) });

it('forwarding loses nothing when it is killed between sending and writing that down, and repeats only what it had in hand', async () => {
  let victim: ChildProcess | undefined;
  let killAt = Infinity;
  const taken = new Map<string, string[]>();
  let kill = 0;
  await using receiver = await standIn(({ body }, index) => {
    if (index >= killAt) {
      killAt = Infinity;
      victim?.kill('SIGKILL');
      // Every other batch that is in hand has not got through.
      if (kill % 2 === 1) return 'cut';
    }
    for (const line of body.split('\n')) {
      const { event } = Envelope.parse(JSON.parse(line));
      taken.set(event.event_id, [...(taken.get(event.event_id) ?? []), JSON.stringify(event)]);
    }
    return { json: { code: 0 } };
  });
  const { db, databaseUrl } = await databaseForTest();
  const DATA_DIR = await directoryForTest();
  const splunk = { name: 'siem', type: 'splunk_hec', url: receiver.url, token: 'token-of-the-tests' };
  const destinations = [{ ...splunk, batch: { events: BATCH } }];
  const XIQ_SINK_CONFIG = await settingsFile({ destinations });
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR, XIQ_SINK_CONFIG };
  const count = 4 * BATCH * (KILLS + 1);
  await addDestination(db, 'siem', 0);
  for (let number = 0; number < count; number += 5) {
    await storeAudits(db, ...[0, 1, 2, 3, 4].map((more) => ({ userId: number + more })));
  }
  for (; kill < KILLS; kill += 1) {
    killAt = receiver.received.length + (kill % 3);
    victim = spawnForwarder(settings);
    await once(victim, 'exit');
    // Passes the time for which a process that was killed still counts as the one that sends.
    await sql`update destinations set lease_until = now() - interval '1 s'`.execute(db);
  }
  await serveForTest(settings, '--role', 'forward');
  await waitFor(() => taken.size === count);
  const repeated = [...taken.values()].filter(({ length }) => length > 1);
  expect(repeated.length).toBeGreaterThanOrEqual(KILLS / 2);
  expect(repeated.every((texts) => new Set(texts).size === 1)).toBe(true);
  expect([...taken.values()].flat().length - count).toBeLessThanOrEqual(BATCH * KILLS);
}, 180_000);
