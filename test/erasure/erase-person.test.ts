import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { eraseForGood, findErasable } from '../../src/erasure/erase-person.ts';
import { readFingerprints } from '../../src/store/seal/erase.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';

const test = useDatabase();
const GROUNDS = { operator: 'jane', reason: 'request 17' };
const of = (user: string) => ({ person: { users: [user], macs: [], phones: [] }, eventIds: [] });

let log: SealedLog;
let erasureKeyFile: string;
beforeAll(async () => {
  log = await openSealedLog(test.service);
  erasureKeyFile = path.join(log.directory, 'private', 'erasure-key');
  const records = ['jane', 'ann', 'bob'].map((userName) => auditRecord({ userName }));
  await storeDeliveries(test.service, queuedDelivery('AUDIT_LOG_ALL', records));
  await log.seal();
});

const eventsOf = async (user: string) => (await findErasable({ db: test.service }, of(user))).events;
const erase = (user: string) => eraseForGood({ db: test.service }, { erasureKeyFile }, of(user), GROUNDS);

it('the first erasure makes the key, for its owner alone', async () => {
  await erase('jane');
  expect((await stat(erasureKeyFile)).mode & 0o777).toBe(0o600);
  expect(await eventsOf('jane')).toEqual([]);
});

it('a later one uses the key, and deletes only once every worker refuses records of the person', async () => {
  const key = await readFile(erasureKeyFile, 'utf8');
  const began = performance.now();
  const erasing = erase('ann');
  await waitFor(async () => (await readFingerprints(test.service)).length === 2);
  expect(await eventsOf('ann')).toHaveLength(1);
  await erasing;
  expect(performance.now() - began).toBeGreaterThanOrEqual(3_000);
  expect(await eventsOf('ann')).toEqual([]);
  expect(await readFile(erasureKeyFile, 'utf8')).toBe(key);
  expect(new Set((await readFingerprints(test.service)).map(({ keyId }) => keyId)).size).toBe(1);
});

it('an event that does not exist is not erased, and says so', async () => {
  const eventIds = ['6a5a4c7e-0000-4000-8000-000000000001'];
  await expect(findErasable({ db: test.service }, { ...of('nobody'), eventIds })).rejects.toThrow(
    /There is no event 6a5a4c7e/,
  );
  const client = { person: { users: [], macs: [], phones: [], clients: ['001122334455'] }, eventIds: [] };
  await expect(findErasable({ db: test.service }, client)).rejects.toThrow('of a source');
});

/** In the digits of a key. */
const HALF_A_KEY = 'ab'.repeat(16);

it.each(['damaged', 'missing'])(
  'nothing is erased while the key is %s: with another, records would come back',
  async (state) => {
    const before = await readFingerprints(test.service);
    if (state === 'damaged') await writeFile(erasureKeyFile, HALF_A_KEY);
    else await rm(erasureKeyFile);
    await expect(erase('bob')).rejects.toThrow('Copy the key from the machine that erased data earlier');
    expect(await readFingerprints(test.service)).toEqual(before);
    expect(await readFile(erasureKeyFile, 'utf8').catch(() => 'missing')).toBe(
      state === 'missing' ? state : HALF_A_KEY,
    );
    const rows = await test.query`select from audit_events where user_name = 'bob'`;
    expect(rows.length).toBeGreaterThan(0);
  },
);
