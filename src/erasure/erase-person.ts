import { randomBytes, type KeyObject } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { isMissingFile } from '../lib/files/durable-file.ts';
import { HttpError, UsageError } from '../lib/errors.ts';
import { makePrivateDirectory } from '../lib/files/private-directory.ts';
import type { Db } from '../store/server/database.ts';
import {
  eraseRows,
  findEventsById,
  findClientEvents,
  suggestErasures,
  addFingerprints,
  readFingerprints,
  renewStatistics,
  type Erasable,
  type ErasureGrounds,
  type ErasureScope,
} from '../store/seal/erase.ts';
import { findEventsOf, findOtherTraces, NO_TRACES } from '../store/seal/person-traces.ts';
import { chooseDecoder } from '../ingest/read-body.ts';
import { UnreadableError } from '../ingest/normalize.ts';
import { searchOf } from './find-person.ts';
import { parseKey, SETTLED_MS, toRefused, type Person } from './refusals.ts';
import type { Logger } from 'pino';
import { recordAction } from '../store/access/operator-log.ts';
import { repeatInBackground } from '../lib/repeat.ts';

export interface Chosen extends ErasureScope {
  readonly person: Person;
  readonly eventIds: readonly string[];
}

const NOBODY: Person = { users: [], macs: [], phones: [] };

/** What can be erased, and what perhaps names the person, which is not. */
export interface FoundPerson extends Erasable {
  readonly possible: readonly string[];
}

/** Finds all of a person that can be erased. Throws a UsageError if one of the named events does not exist. */
export async function findErasable(
  db: Db,
  { person, eventIds, source, before = new Date() }: Chosen,
): Promise<FoundPerson> {
  const search = searchOf(person);
  const named = search && (await findEventsOf(db, search, source));
  const others = search && (await findOtherTraces(db, search, source, decodeContent));
  const ids = named?.named.map(({ eventId }) => eventId) ?? [];
  for (const mac of person.clients ?? []) {
    if (source === undefined) throw new TypeError('the events of a client are of a source');
    ids.push(...(await findClientEvents(db, mac, source, before)).map(({ eventId }) => eventId));
  }
  // With those that they supersede or that supersede them.
  const events = await findEventsById(db, [...eventIds, ...ids]);
  const missing = eventIds.find((id) => !events.some(({ eventId }) => eventId === id));
  if (missing !== undefined) throw new UsageError(`There is no event ${missing}.`);
  const possible = [...(named?.possible ?? []), ...(others?.possible ?? [])];
  return { events, ...(others?.named ?? NO_TRACES), possible };
}

/** More of a quarantined body than this is not searched. */
const DECODED_BYTES = 256 * 1024 * 1024;

async function decodeContent(content: Buffer, encoding: string | undefined): Promise<Buffer | undefined> {
  try {
    return await chooseDecoder(encoding)(content, DECODED_BYTES);
  } catch (error) {
    if (error instanceof HttpError || error instanceof UnreadableError) return undefined;
    throw error;
  }
}

/**
 * Refuses records of the person from now on, waits until all workers know it, and erases everything that was stored until
 * then. Returns the id of the erasure, and how many events it deleted.
 */
export async function eraseForGood(
  db: Db,
  { erasureKeyFile }: Pick<Config, 'erasureKeyFile'>,
  chosen: Chosen,
  grounds: ErasureGrounds,
  onWaiting: () => void = () => undefined,
): Promise<{ readonly erasure: string; readonly events: number }> {
  const key = await keepErasureKey(erasureKeyFile, (await readFingerprints(db)).length > 0);
  await addFingerprints(db, toRefused(key, chosen.person, chosen.eventIds), chosen);
  await sleep(SETTLED_MS);
  const deadline = performance.now() + SEALED_WITHIN_MS;
  for (;;) {
    const erasable = await findErasable(db, chosen);
    const erasure = await eraseRows(db, grounds, erasable);
    if (erasure !== undefined) {
      await renewStatistics(db);
      return { erasure, events: erasable.events.length };
    }
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
async function keepErasureKey(file: string, isUsed: boolean): Promise<KeyObject> {
  try {
    return parseKey(await readFile(file, 'utf8'));
  } catch (error) {
    if (!isMissingFile(error) || isUsed) {
      const reason = 'Copy the key from the machine that erased before: see docs/erasure.md.';
      throw new UsageError(`The key of erasures cannot be read from ${file}. ${reason}`, { cause: error });
    }
  }
  await makePrivateDirectory(path.dirname(file));
  const key = randomBytes(32).toString('hex');
  await writeFile(file, `${key}\n`, { mode: 0o600, flag: 'wx' });
  return parseKey(key);
}

const INTERVAL_MS = 60 * 60 * 1000;

const OPERATOR = { name: 'xiq-sink', via: 'system' } as const;
const REASON = 'The cloud deleted the data of this client (GDPR_LOG_ALL)';

interface GdprErasures {
  readonly db: Db;
  readonly config: Config;
  readonly logger: Logger;
}

/**
 * Erases the events of clients whose data the cloud has deleted: now and every hour, with `GDPR_ERASURE=auto`. Whoever sends for
 * a source decides with that only about the clients of this source, by the column of their address.
 */
export function startGdprErasures({ db, config, logger }: GdprErasures, started: AsyncDisposableStack): void {
  if (!config.erasesAfterGdprLog) return;
  const work = async () => {
    for (const { mac, source, deletedAt: before } of await suggestErasures(db)) {
      const chosen = { person: { ...NOBODY, clients: [mac] }, eventIds: [], source, before };
      const erased = await recordAction(
        db,
        { operator: OPERATOR, action: 'events.erase', details: { reason: REASON, source } },
        () => eraseForGood(db, config, chosen, { operator: OPERATOR.name, reason: REASON }),
        (done) => ({ ...done }),
      );
      logger.info(
        { ...erased, source },
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
