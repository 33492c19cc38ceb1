import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseKey, toRefused } from '../../src/erasure/refusals.ts';
import { addFingerprints } from '../../src/store/seal/erase.ts';
import { useDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';
import { flood, startAttacked } from './attacked.ts';
import type { Attacked } from './attacked.ts';
import { MOST_MB, MOST_MS, measureDeliveries, printMeasured } from './measure.ts';

/** After SIGTERM the service has 7 s, and the processor is not ours alone. */
const STOP_MS = 9_500;

const directory = useDirectory();
const key = '07'.repeat(32);

let attacked: Attacked;
beforeAll(async () => {
  const file = path.join(directory, 'key');
  await writeFile(file, key);
  attacked = await startAttacked({ ERASURE_KEY_FILE: file });
  const users = Array.from({ length: 20 }, (_, n) => `jane${n}${' doe'.repeat(n % 4)}`);
  const person = { users, macs: ['aabbccddeeff'], phones: ['+49 170 1234567'] };
  await addFingerprints(attacked.database.db, toRefused(parseKey(key), person, []));
});
afterAll(() => attacked.stop());

const send = (name: string) =>
  flood(
    `${attacked.program.url}/ingest/default/AUDIT_LOG_ALL`,
    { bodies: [name], connections: 1, requests: 1 },
    0.1,
  );

const quarantined = async () => {
  const { rows } = await sql<{ count: number; reason: string | null }>`
    select count(*)::int as count, min(reason) as reason from quarantine`.execute(attacked.database.db);
  return rows[0];
};

/** So many of the five records of a body have more words than are compared; the others are stored. */
it.each([
  ['old records of single letters', 5],
  ['old records of letters, marks and points', 2],
])(
  'after an erasure, %s delay no good delivery',
  async (name, expected) => {
    const before = (await quarantined())?.count ?? 0;
    const began = performance.now();
    const store = async () => {
      expect(await send(name)).toEqual({ 200: 1 });
      await waitFor(async () => (await quarantined())?.count === before + expected, 60_000);
    };
    const measured = await measureDeliveries(attacked.program, store());
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    printMeasured(`${name}, stored within ${seconds} s`, measured, 'no answer for 100 to 150 s, or for good');
    expect((await quarantined())?.reason).toContain('more words than can be compared');
    expect(measured.p99).toBeLessThan(MOST_MS);
    expect(measured.memory).toBeLessThan(MOST_MB);
    const { rows } = await sql`select from conservation where not adds_up`.execute(attacked.database.db);
    expect(rows).toEqual([]);
  },
  120_000,
);

it('and SIGTERM in the middle of them ends the process in time', async () => {
  for (let count = 0; count < 3; count += 1) await send('old records of letters, marks and points');
  const began = performance.now();
  expect(await attacked.program.end('SIGTERM')).toBe(0);
  const ms = performance.now() - began;
  process.stdout.write(
    `SIGTERM while old records are compared: ended in ${ms.toFixed(0)} ms (before: never)\n`,
  );
  expect(ms).toBeLessThan(STOP_MS);
}, 60_000);
