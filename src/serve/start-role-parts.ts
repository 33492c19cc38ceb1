import { startArchiving } from '../archive/archive-in-turn.ts';
import { openArchiveDatabase } from '../archive/archive-database.ts';
import type { ArchiveAccess } from '../archive/read-archive.ts';
import { archivedEvents } from '../archive/verify-archive.ts';
import { closeLogged } from '../lib/close-logged.ts';
import { startAlerting } from '../alerts/start-alerting.ts';
import { forwardsIn, storesIn, type Role } from '../config/roles.ts';
import { startGdprErasures } from '../erasure/erase-person.ts';
import { startForwardings } from '../forward/start-forwardings.ts';
import { startStoring, type StoringOptions } from '../handlers/start-storing.ts';
import { startInventory } from '../inventory/refresh.ts';
import { startSilenceWatch } from '../observe/silence/silence-watch.ts';
import { startHistorySweep } from '../reconcile/start-history-sweep.ts';
import type { FairQueue } from '../queue/fair-queue.ts';
import { startReporting } from '../reports/send-due-reports.ts';
import { startProving } from '../seal/start-proving.ts';
import { startSequencing } from '../seal/sequencer.ts';
import { startCounting } from '../store/counts/start-counting.ts';
import { adoptServer } from '../store/log/extend-log.ts';
import { startMaintenance } from '../store/partitions/start-maintenance.ts';
import { startQuarantineLimits } from '../store/quarantine/limit-quarantine.ts';
import { checkDatabase, openPartDatabase, type Db } from '../store/server/database.ts';
import { startReaderLimits } from '../store/server/roles/limit-readers.ts';
import { FIRST_MIGRATION } from '../store/server/schema/migrations.ts';
import { startIndexBuilding } from '../store/server/schema/build-indexes.ts';
import { followOutputs } from './follow-outputs.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Observation } from './observation.ts';
import { openArchive, prepareTables, type DatabaseUrls } from './open-store.ts';
import type { Start } from './start-with-database.ts';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { maskConfig, type Config } from '../config/config.ts';
import { lastEnded, recordEnded, SERVICE } from '../store/access/operator-log.ts';

interface RoleParts extends DatabaseUrls, Omit<StoringOptions, 'config' | 'observation'> {
  readonly live: LiveSettings;
  /** The database for work that may take long. */
  readonly upkeep: Db;
  readonly observation: Observation;
  /** The queue of a process that accepts deliveries, too. */
  readonly queue: FairQueue | undefined;
}

/** The parts of a role that need the database. They bring its tables up to date first, or check them. */
export function startRoleParts(role: Role, parts: RoleParts): Start {
  const { live, db, upkeep, observation, logger } = parts;
  const { config } = live;
  const { startSteps: steps } = observation;
  return async (started, signal) => {
    const applied = await steps.run('migrations', () => prepareTables(config, parts, upkeep, signal));
    if (applied.includes(FIRST_MIGRATION)) logger.debug({ applied }, 'database created');
    else if (applied.length > 0) logger.info({ applied }, 'database migrated');
    await recordStart(db, config, role);
    signal.throwIfAborted();
    await followOutputs(db, live, logger, started);
    await steps.run('continuing the log', () => adoptServer(upkeep));
    startSequencing(openPartDatabase('the log', 'log', parts, started), logger, started, storesIn(role));
    const archive = openArchive(config, parts, started);
    if (storesIn(role)) {
      const archived = archivedEvents(archive, 'verifying');
      started.defer(closeLogged(logger, 'the archive', async () => archived[Symbol.asyncDispose]()));
      await steps.run('start of the worker', async () => {
        await startUpkeep(parts, archive, started);
        const worker = await startStoring({ ...parts, config }, started);
        parts.queue?.handTo(worker);
      });
      startOnClouds(parts, started);
      const sealing = openPartDatabase('the seal', 'sealing', parts, started);
      startProving({ db: sealing, events: archived.events, config, logger }, started);
      startArchiving({ ...archive, db: upkeep }, config, logger, started);
    }
    signal.throwIfAborted();
    if (forwardsIn(role)) await steps.run('start of forwarding', () => startSending(parts, archive, started));
    steps.done();
  };
}

/** Maintains the tables, counts what they contain, and watches for silences. */
async function startUpkeep(
  { live, databaseUrl, readerUrl, migrationUrl, db, upkeep, observation, logger }: RoleParts,
  archive: ArchiveAccess,
  started: AsyncDisposableStack,
): Promise<void> {
  const { config, destinationNames: destinations } = live;
  const directUrl = migrationUrl ?? config.databaseDirectUrl;
  if (config.migrates) startIndexBuilding({ db: upkeep, databaseUrl, directUrl, logger }, started);
  const { onBlocked, onQuarantineDropped: onDropped } = observation;
  await startMaintenance({ db: upkeep, config, destinations, onBlocked, logger }, started);
  startCounting(db, logger, started);
  const watch = startSilenceWatch(db, logger, started);
  observation.followArrivals(() => watch.latest());
  startQuarantineLimits({ db: upkeep, config, onDropped, logger }, started);
  startReaderLimits(db, readerUrl, logger, started);
  startGdprErasures({ db: upkeep, archive: { ...archive, db: upkeep } }, config, logger, started);
}

/** Reads the logs and the inventory of the sources that have an API. */
function startOnClouds(parts: RoleParts, started: AsyncDisposableStack): void {
  const { live, observation, logger } = parts;
  const { config, knowsStored } = live;
  const sources = { config, knowsStored, logger };
  const { history, erasureKeyFile } = config;
  if (history.sweeps) {
    const db = openPartDatabase('the history', 'storing', parts, started);
    const observer = observation.deliveries;
    startHistorySweep({ db, sources, toleranceMs: history.toleranceMs, erasureKeyFile, observer }, started);
  }
  if (config.inventory !== 'off') {
    const db = openPartDatabase('the inventory', 'storing', parts, started);
    startInventory({ db, sources }, started);
  }
}

/** Forwards events, and what is made of them: alerts and reports. */
async function startSending(
  parts: RoleParts,
  archive: ArchiveAccess,
  started: AsyncDisposableStack,
): Promise<void> {
  const { live, observation, logger } = parts;
  const { config, follow } = live;
  const forwarding = openPartDatabase('the forwarder', 'forwarding', parts, started);
  observation.addPool('forwarding', () => checkDatabase(forwarding), started);
  await startForwardings(
    { db: forwarding, config, follow, observer: observation.forwarding, logger },
    started,
  );
  const alerting = openPartDatabase('the alert rules', 'forwarding', parts, started);
  startAlerting({ db: alerting, config, onAlert: observation.onAlert, logger }, started);
  const reporting = openPartDatabase('the reports', 'console', parts, started);
  const { db: events, close } = openArchiveDatabase(archive, 'console');
  started.defer(closeLogged(logger, 'the archive for the reports', close));
  startReporting({ db: reporting, events, config, logger }, started);
}

/**
 * Records a start of the service in the operator log, with its settings without secrets, and what differs from the last
 * start of this role.
 */
export async function recordStart(db: Db, config: Config, role: Role): Promise<void> {
  // As the log returns them: without those that are not set.
  const settings = anyObject.parse(JSON.parse(JSON.stringify(maskConfig(config))));
  const last = await lastEnded(db, 'service.start', role);
  const changed = last === undefined ? undefined : differencesOf(last['settings'], settings);
  const details = changed === undefined ? {} : { changed };
  await recordEnded(db, { operator: SERVICE, action: 'service.start', subject: role, details }, 'done', {
    settings,
  });
}

const anyObject = z.record(z.string(), z.unknown());

/** Each setting that differs, with its old and new value; null if it was or is not set. */
function differencesOf(before: unknown, after: Readonly<Record<string, unknown>>) {
  const old = anyObject.catch({}).parse(before);
  const names = [...new Set([...Object.keys(old), ...Object.keys(after)])];
  return Object.fromEntries(
    names
      .filter((name) => !isDeepStrictEqual(old[name], after[name]))
      .map((name) => [name, { from: old[name] ?? null, to: after[name] ?? null }]),
  );
}
