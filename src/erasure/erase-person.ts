import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config.ts';
import { isMissingFile } from '../durable-file.ts';
import { UsageError } from '../errors.ts';
import { makePrivateDirectory } from '../private-directory.ts';
import type { Db } from '../store/database.ts';
import {
  eraseRows,
  findEventsById,
  findEventsByPattern,
  findOtherTraces,
  NO_TRACES,
  type Erasable,
  type ErasureGrounds,
} from '../store/erase.ts';
import { addRefused, readRefused } from '../store/refused-records.ts';
import { personPattern } from './person-pattern.ts';
import { parseKey, SETTLED_MS, toRefused, type Person } from './refusals.ts';

/** What to erase. */
export interface Chosen {
  readonly person: Person;
  readonly eventIds: readonly string[];
}

/** Finds all of a person that can be erased. Throws a UsageError if one of the named events does not exist. */
export async function findErasable(db: Db, { person, eventIds }: Chosen): Promise<Erasable> {
  const pattern = personPattern(person);
  const named = pattern === undefined ? [] : await findEventsByPattern(db, pattern);
  // With those that they supersede or that supersede them.
  const events = await findEventsById(db, [...eventIds, ...named.map(({ eventId }) => eventId)]);
  const missing = eventIds.find((id) => !events.some(({ eventId }) => eventId === id));
  if (missing !== undefined) throw new UsageError(`There is no event ${missing}.`);
  const others = pattern === undefined ? NO_TRACES : await findOtherTraces(db, pattern);
  return { events, ...others };
}

/**
 * Refuses records of the person from now on, waits until all workers know it, and erases everything that was stored until
 * then. Returns the id of the erasure.
 */
export async function eraseForGood(
  db: Db,
  { erasureKeyFile }: Pick<Config, 'erasureKeyFile'>,
  chosen: Chosen,
  grounds: ErasureGrounds,
  onWaiting: () => void = () => undefined,
): Promise<string> {
  const key = await keepErasureKey(erasureKeyFile, (await readRefused(db)).length > 0);
  await addRefused(db, toRefused(key, chosen.person, chosen.eventIds));
  await sleep(SETTLED_MS);
  const deadline = performance.now() + SEALED_WITHIN_MS;
  for (;;) {
    const erasure = await eraseRows(db, grounds, await findErasable(db, chosen));
    if (erasure !== undefined) return erasure;
    if (performance.now() > deadline) {
      throw new UsageError(
        'Some of the events are not sealed yet, and nothing was erased. Start serve, and repeat the command a minute later.',
      );
    }
    onWaiting();
    await sleep(RETRY_MS);
  }
}

/** The sealer waits for up to 40 s during a burst. */
const SEALED_WITHIN_MS = 60_000;
const RETRY_MS = 2_000;

/**
 * Reads the key that tells erased persons; the first erasure makes it, in a file that only its owner may read. Throws a
 * UsageError if it is damaged, or missing although `isUsed`: another one would let erased records come back.
 */
async function keepErasureKey(file: string, isUsed: boolean): Promise<Buffer> {
  try {
    return parseKey(await readFile(file, 'utf8'));
  } catch (error) {
    if (!isMissingFile(error) || isUsed) {
      const reason = 'Copy the key from the machine that erased before: see docs/erasure.md.';
      throw new UsageError(`The key of erasures cannot be read from ${file}. ${reason}`, { cause: error });
    }
  }
  await makePrivateDirectory(path.dirname(file));
  const key = randomBytes(32);
  await writeFile(file, `${key.toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  return key;
}
