import { randomBytes, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { isMissingFile } from '../lib/files/durable-file.ts';
import { HttpError, UsageError } from '../lib/errors.ts';
import { createPrivateFile } from '../lib/files/private-directory.ts';
import { openArchiveDatabase } from '../archive/archive-database.ts';
import { deleteRemoved } from '../archive/delete-removed.ts';
import { eachArchivedFile } from '../archive/each-file.ts';
import type { ArchiveAccess } from '../archive/read-archive.ts';
import { restoreFiles } from '../archive/unarchive.ts';
import { hasArchive, type ArchivedFile } from '../store/archive/archived-files.ts';
import type { Db } from '../store/server/database.ts';
import {
  eraseRows,
  findEventsById,
  findClientEvents,
  listDeletedClients,
  suggestErasures,
  addFingerprints,
  readFingerprints,
  renewStatistics,
  type DeletedClient,
  type Erasable,
  type ErasureGrounds,
  type ErasureScope,
} from '../store/seal/erase.ts';
import { findEventsOf, findOtherTraces, NO_TRACES, type ErasableEvent } from '../store/seal/person-traces.ts';
import { chooseDecoder } from '../ingest/read-body.ts';
import { UnreadableError } from '../ingest/normalize.ts';
import { searchOf } from './find-person.ts';
import { parseKey, SETTLED_MS, toRefused, type Person } from './refusals.ts';
import type { Logger } from 'pino';
import { recordAction, SERVICE } from '../store/access/operator-log.ts';
import { repeatInBackground } from '../lib/repeat.ts';

export interface Chosen extends ErasureScope {
  readonly person: Person;
  readonly eventIds: readonly string[];
}

/** What can be erased, and what perhaps names the person, which is not. */
export interface FoundPerson extends Erasable {
  readonly possible: readonly string[];
  /** Files of the archive that have some of the events. */
  readonly files: readonly ArchivedFile[];
}

/** Where events are: in the tables, and in files of the archive, if there is one. */
export interface ErasableStore {
  readonly db: Db;
  readonly archive?: ArchiveAccess | undefined;
}

/** Finds all of a person that can be erased. Throws a UsageError if one of the named events does not exist. */
export async function findErasable(store: ErasableStore, chosen: Chosen): Promise<FoundPerson> {
  const { db } = store;
  const { person, eventIds, source } = chosen;
  const search = searchOf(person);
  const others = search && (await findOtherTraces(db, search, source, decodeContent));
  const possible: string[] = [];
  const ids = [...eventIds];
  for await (const { events } of placesOf(store)) {
    const named = search && (await findEventsOf(events, search, source));
    possible.push(...(named?.possible ?? []));
    ids.push(
      ...[...(named?.named ?? []), ...(await findOfClients(events, chosen))].map(({ eventId }) => eventId),
    );
  }
  // With those that they supersede or that supersede them.
  const found: ErasableEvent[] = [];
  const files: ArchivedFile[] = [];
  for await (const { events, file } of placesOf(store)) {
    const here = await findEventsById(events, ids);
    found.push(...here);
    if (file !== undefined && here.length > 0) files.push(file);
  }
  const missing = eventIds.find((id) => !found.some(({ eventId }) => eventId === id));
  if (missing !== undefined) throw new UsageError(`There is no event ${missing}.`);
  possible.push(...(others?.possible ?? []));
  return { events: found, files, ...(others?.named ?? NO_TRACES), possible };
}

async function* placesOf({
  db,
  archive,
}: ErasableStore): AsyncGenerator<{ readonly events: Db; readonly file?: ArchivedFile }> {
  yield { events: db };
  if (archive !== undefined) yield* eachArchivedFile(archive);
}

async function findOfClients(
  db: Db,
  { person, source, before = new Date() }: Chosen,
): Promise<readonly ErasableEvent[]> {
  const found: ErasableEvent[] = [];
  for (const mac of person.clients ?? []) {
    if (source === undefined) throw new TypeError('the events of a client are of a source');
    found.push(...(await findClientEvents(db, mac, source, before)));
  }
  return found;
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
 * then. Resolves with how many events were deleted, and the files of the archive that still have some, each with the reason.
 */
export async function eraseForGood(
  store: ErasableStore,
  { erasureKeyFile }: Pick<Config, 'erasureKeyFile'>,
  chosen: Chosen,
  grounds: ErasureGrounds,
  onWaiting: () => void = () => undefined,
) {
  const { db, archive } = store;
  const key = await keepErasureKey(erasureKeyFile, (await readFingerprints(db)).length > 0);
  await addFingerprints(db, toRefused(key, chosen.person, chosen.eventIds), chosen);
  await sleep(SETTLED_MS);
  const deadline = performance.now() + SEALED_WITHIN_MS;
  for (;;) {
    const erasable = await findErasable(store, chosen);
    // Files are never changed: their events return to the table, and what is left of them is archived again.
    if (archive !== undefined && erasable.files.length > 0) {
      await restoreFiles(archive, erasable.files);
      continue;
    }
    const erasure = await eraseRows(db, grounds, erasable);
    if (erasure !== undefined) {
      await renewStatistics(db);
      const remaining = archive === undefined ? [] : await deleteRemoved(archive);
      return { erasure, events: erasable.events.length, remaining };
    }
    if (performance.now() > deadline) {
      throw new UsageError(
        'Some of the events are not sealed yet, so nothing was erased. Start serve, and repeat the command a minute later.',
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
      const reason = 'Copy the key from the machine that erased data earlier: see docs/erasure.md.';
      throw new UsageError(`The erasure key cannot be read from ${file}. ${reason}`, { cause: error });
    }
  }
  const key = randomBytes(32).toString('hex');
  await createPrivateFile(file, `${key}\n`);
  return parseKey(key);
}

const INTERVAL_MS = 60 * 60 * 1000;

const REASON = 'The cloud deleted the data of this client (GDPR_LOG_ALL)';

/**
 * Erases the events of clients whose data the cloud has deleted: now and every hour, with `GDPR_ERASURE=auto`. Whoever sends for
 * a source decides with that only about the clients of this source, by the column of their address.
 */
export function startGdprErasures(
  { db, archive }: ErasableStore,
  config: Config,
  logger: Logger,
  started: AsyncDisposableStack,
): void {
  if (!config.erasesAfterGdprLog) return;
  /** Deletions that the archive was searched for: it has nothing new of before them. */
  const searched = new Set<string>();
  const work = async () => {
    const suggested = [
      ...(await suggestErasures(db)),
      ...(await findArchivedClients({ db, archive }, searched)),
    ];
    for (const { mac, source, deletedAt: before } of suggested) {
      const person = { users: [], macs: [], phones: [], clients: [mac] };
      const chosen = { person, eventIds: [], source, before };
      const erased = await recordAction(
        db,
        { operator: SERVICE, action: 'events.erase', details: { reason: REASON, source } },
        () => eraseForGood({ db, archive }, config, chosen, { operator: SERVICE.name, reason: REASON }),
        (done) => ({ ...done }),
      );
      logger.info({ ...erased, source }, "a client's events were erased because the cloud deleted its data");
    }
  };
  repeatInBackground(
    { part: 'erasures', failure: 'a client was not erased', level: 'error', pauseMs: INTERVAL_MS, work },
    logger,
    started,
  );
}

/** Finds the deleted clients of whom the archive has events. */
async function findArchivedClients(
  { db, archive }: ErasableStore,
  searched: Set<string>,
): Promise<readonly DeletedClient[]> {
  if (archive === undefined || !(await hasArchive(db))) return [];
  const found: DeletedClient[] = [];
  const { db: events, close } = openArchiveDatabase(archive);
  try {
    for (const client of await listDeletedClients(db)) {
      const { mac, source, deletedAt } = client;
      const deletion = JSON.stringify(client);
      if (searched.has(deletion)) continue;
      if ((await findClientEvents(events, mac, source, deletedAt)).length > 0) found.push(client);
      searched.add(deletion);
    }
  } finally {
    await close();
  }
  return found;
}
