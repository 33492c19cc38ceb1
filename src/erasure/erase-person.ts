import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { isMissingFile } from '../lib/files/durable-file.ts';
import { UsageError } from '../lib/errors.ts';
import { makePrivateDirectory } from '../lib/files/private-directory.ts';
import type { Db } from '../store/server/database.ts';
import {
  eraseRows,
  findEventsById,
  findEventsByPattern,
  findOtherTraces,
  NO_TRACES,
  suggestErasures,
  addFingerprints,
  readFingerprints,
  type Erasable,
  type ErasureGrounds,
} from '../store/seal/erase.ts';
import { parseKey, SETTLED_MS, toRefused, type Person } from './refusals.ts';
import { macDigits, writeMac } from '../events/mac-address.ts';
import type { Logger } from 'pino';
import { recordAction } from '../store/access/operator-log.ts';
import { repeatInBackground } from '../lib/repeat.ts';

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
  const key = await keepErasureKey(erasureKeyFile, (await readFingerprints(db)).length > 0);
  await addFingerprints(db, toRefused(key, chosen.person, chosen.eventIds));
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
 * Reads the key that recognizes records of erased people; the first erasure makes it, in a file that only its owner may read. Throws a
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

/**
 * A regular expression of Postgres, for any case, that finds a person in the text of a JSON value: names as whole words,
 * MAC addresses and phone numbers in any notation. Undefined for nobody.
 */
export function personPattern({ users, macs, phones }: Person): string | undefined {
  const patterns = [...users.map(userPattern), ...macs.map(macPattern), ...phones.map(phonePattern)];
  return patterns.length === 0 ? undefined : patterns.join('|');
}

/** In JSON, a letter after a backslash is an escape and no part of the word that follows. */
function userPattern(name: string): string {
  const inJson = JSON.stringify(name).slice(1, -1);
  const literal = inJson.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
  return String.raw`(?:(?<![\w.@+-])|(?<=\\[bfnrt]))${literal}(?![\w@-]|\.\w)`;
}

const macPattern = (mac: string): string => `(?<![0-9a-f])${writeMac(macDigits(mac), '[-:. ]?')}(?![0-9a-f])`;

function phonePattern(phone: string): string {
  const digits = phone.replaceAll(/\D/g, '').replace(/^00/, '');
  return `(?<![1-9])${digits.split('').join('[ ./()-]*')}(?![0-9])`;
}

const INTERVAL_MS = 60 * 60 * 1000;

const OPERATOR = { name: 'xiq-sink', via: 'system' } as const;
const REASON = 'The cloud deleted the data of this client (GDPR_LOG_ALL)';

interface GdprErasures {
  readonly db: Db;
  readonly config: Config;
  readonly logger: Logger;
}

/** Erases the events of clients whose data the cloud has deleted: now and every hour, with `GDPR_ERASURE=auto`. */
export function startGdprErasures({ db, config, logger }: GdprErasures, started: AsyncDisposableStack): void {
  if (!config.erasesAfterGdprLog) return;
  const work = async () => {
    for (const { mac, events } of await suggestErasures(db)) {
      const chosen = { person: { users: [], macs: [mac], phones: [] }, eventIds: [] };
      const erasure = await recordAction(
        db,
        { operator: OPERATOR, action: 'events.erase', details: { reason: REASON, events } },
        () => eraseForGood(db, config, chosen, { operator: OPERATOR.name, reason: REASON }),
        (id) => ({ erasure: id }),
      );
      logger.info(
        { erasure, events },
        'the events of a client were erased, because the cloud deleted its data',
      );
    }
  };
  repeatInBackground(
    { part: 'erasures', failure: 'a client was not erased', level: 'error', pauseMs: INTERVAL_MS, work },
    logger,
    started,
  );
}
