import { commandName } from '../../lib/text/command-name.ts';
import type { Config } from '../../config/config.ts';
import { weaknessesOfPostgres } from '../../queue/postgres-engine.ts';
import {
  CREATE_AGAIN,
  OLDEST_POSTGRES,
  openLimited,
  readServerFacts,
  type Db,
} from '../../store/server/database.ts';
import { readMigrationState } from '../../store/server/schema/migrate.ts';
import { MAX_DEFAULT_COUNT } from '../../store/partitions/partitioned-tables.ts';
import { readPartitionState } from '../../store/partitions/partitions.ts';
import { countAhead, countUnreadTimes, type WrongTimes } from '../../store/events/event-times.ts';
import { readConservation } from '../../store/counts/read-arrivals.ts';
import { allPartitions, changedPartitions, recount } from '../../store/deliveries/recount-deliveries.ts';
import { findReaderChanges } from '../../store/server/roles/readers.ts';
import { OWNER, readRoleState } from '../../store/server/roles/roles.ts';
import { describeWork } from '../../store/server/server-sessions.ts';
import { findTableUsers, findWaits } from '../../store/server/waits.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { countOf, formatBytes } from '../../lib/text/units.ts';
import { fail, ok, warn, type Finding, LIMIT_MS } from './check.ts';
import { hasCluster, openCluster } from '../../embedded/cluster.ts';
import { locateDatabase } from '../../serve/open-store.ts';

/** Checks that the database answers, is supported and writable, and makes commits durable. */
export async function checkDatabase(access: DatabaseAccess): Promise<Finding> {
  const opened = await access.open();
  if (opened === undefined) {
    return { ...warn('not created yet', `run ${commandName()} serve`), stops: true };
  }
  const { majorVersion, version, isReadOnly, bytes, encoding, differing } = await readServerFacts(opened.db);
  const { serverUser } = opened;
  const server = `Postgres ${version}, ${formatBytes(bytes)}${serverUser === undefined ? '' : `, runs as ${serverUser}`}`;
  if (majorVersion < OLDEST_POSTGRES) {
    return fail(`${server}: too old`, `move to Postgres ${OLDEST_POSTGRES} or newer, and set DATABASE_URL`);
  }
  if (isReadOnly) {
    return { ...fail(`${server}: read-only, or a standby`, 'set DATABASE_URL to the primary'), stops: false };
  }
  if (encoding !== 'UTF8') return fail(`${server}: its encoding is ${encoding}`, CREATE_AGAIN);
  if (differing.length > 0) {
    return warn(
      `${server}: ${differing.join('; ')} in its sessions`,
      'reset it for the role and the database',
    );
  }
  const weaknesses = await weaknessesOfPostgres(opened.databaseUrl);
  return weaknesses.length === 0
    ? ok(server)
    : warn(
        `${server}: ${weaknesses.join('; ')}`,
        'change these server settings, unless you can afford to lose its data',
      );
}

/** Checks that the tables match this version. Applies no migration. */
export async function checkMigrations(access: DatabaseAccess): Promise<Finding> {
  const { applied, pending, unknown, incompatible } = await readMigrationState(access.opened().db);
  if (incompatible.length > 0) {
    return fail(
      `a newer xiq-sink has applied ${incompatible.join(', ')}`,
      'run that version, or restore a backup: migrations cannot be undone',
    );
  }
  if (pending.length > 0) {
    return fail(
      `${applied.length} applied, ${pending.length} pending: ${pending.join(', ')}`,
      `run ${commandName()} migrate (serve also does it when it starts)`,
    );
  }
  return ok(
    unknown.length === 0
      ? `all ${applied.length} applied`
      : `all ${applied.length} applied; a newer xiq-sink added ${unknown.join(', ')}, which is compatible with this version`,
  );
}

/** Checks that neither the service nor the reader has more rights in the database than it needs. */
export async function checkRoles(access: DatabaseAccess, config: Config): Promise<Finding> {
  const { db } = access.opened();
  const { service, serviceIsSuperuser, hasOwner, canBecomeOwner, readerRights } = await readRoleState(db);
  const changed = await findReaderChanges(db);
  const findings = [
    serviceIsSuperuser && `xiq-sink logs in as ${service}, which is a superuser`,
    !hasOwner && `${service} owns the tables and could remove the guards of stored data`,
    hasOwner &&
      canBecomeOwner &&
      `anyone with the password of ${service} can become ${OWNER} and rewrite stored data: set MIGRATION_DATABASE_URL for migrations`,
    ...changed.map(({ login, changes }) => `${login} was changed: ${changes.join(', ')}`),
    readerRights.length > 0 && `xiq_reader has ${readerRights.join(', ')}`,
    config.databaseUrl !== undefined &&
      config.readerDatabaseUrl === undefined &&
      'READER_DATABASE_URL is not set, so sql cannot be used',
  ].filter((finding) => finding !== false);
  return findings.length === 0
    ? ok(`${service} and xiq_reader have only the privileges they need`)
    : warn(findings.join('; '), 'create the roles: see "Database roles" in docs/operating.md');
}

const seeConservation = () => `run ${commandName()} sql "select * from conservation"`;

/** The finding when partitions that were changed take longer to count again than a person waits. */
export const conservationLate = () =>
  warn('recounting the deliveries takes longer than 5 s', `run ${commandName()} doctor --full`);

/**
 * Checks that the records of every delivery are accounted for, and that no quarantined item is open. Counts the deliveries
 * of those partitions again that were changed since a worker last did, or of all partitions.
 */
export async function checkConservation(access: DatabaseAccess, isFull = false): Promise<Finding> {
  const { db } = access.opened();
  const partitions = await (isFull ? allPartitions : changedPartitions)(db);
  const [{ deliveries, unbalanced, openInQuarantine }, differences] = await Promise.all([
    readConservation(db, ALL_SOURCES),
    recount(db, partitions),
  ]);
  if (unbalanced.length > 0 || differences.length > 0) {
    const found = differences.map(
      ({ partition, source, messageType, missing }) =>
        `${source} ${messageType} in ${partition} (${missing === 0 ? 'changed' : `${missing} missing`})`,
    );
    return fail(
      `does not add up: ${[...unbalanced, ...found].join(', ')}`,
      `rows are missing, or were changed or added manually: run ${commandName()} verify to see which, and ${seeConservation()}`,
    );
  }
  const sums = countOf(deliveries, 'delivery adds up', 'deliveries add up');
  return openInQuarantine === 0
    ? ok(sums)
    : warn(
        `${sums}; ${countOf(openInQuarantine, 'open item')} in quarantine`,
        `run ${commandName()} quarantine list`,
      );
}

/** Checks that there is a partition for the month of every event. */
export async function checkPartitions(access: DatabaseAccess, config: Config): Promise<Finding> {
  const { db } = access.opened();
  const { missing, inDefault } = await readPartitionState(db, new Date(), config.retentionMonths);
  if (missing.length > 0) {
    return warn(
      `${countOf(missing.length, 'partition')} missing, first ${missing[0]}: their events go to a default partition`,
      `a worker creates partitions when it starts and every hour: run ${commandName()} serve, or see its log`,
    );
  }
  if (inDefault.length === 0) return ok('from last month to three months ahead');
  const found = inDefault.map(
    ({ partition, rows, first, last, waiting }) =>
      `${describeRows(rows, partition)} in ${partition}, ${dayOf(first)} to ${dayOf(last)}` +
      (waiting === 0 ? '' : `, ${countOf(waiting, 'month')} to move`),
  );
  return warn(
    `in default partitions: ${found.join('; ')}`,
    inDefault.some(({ waiting }) => waiting > 0)
      ? `a worker moves rows to their months when it starts and every hour: run ${commandName()} serve, or see its log`
      : "times before 2015 or more than three months ahead cannot be right: correct the sender's clock",
  );
}

function describeRows(rows: number, partition: string): string {
  const count = (n: number) =>
    partition === 'deliveries_default' ? countOf(n, 'delivery', 'deliveries') : countOf(n, 'event');
  return rows > MAX_DEFAULT_COUNT ? `more than ${count(MAX_DEFAULT_COUNT)}` : count(rows);
}

const dayOf = (time: Date) => time.toISOString().slice(0, 10);

/** Checks that no session makes the service wait: by a transaction that stores, by its locks, or before maintenance. */
export async function checkLocks(access: DatabaseAccess, config: Config): Promise<Finding> {
  const { db } = access.opened();
  const waits = (await findWaits(db)).map(
    ({ waiting, session }) => `${waiting} waits for ${describeWork(session)}`,
  );
  const { missing, passed } = await readPartitionState(db, new Date(), config.retentionMonths);
  const tables = [...missing, ...passed].map((partition) =>
    partition.replace(/(_until)?_\d{4}_\d{2}$|_default$/, ''),
  );
  const users = await findTableUsers(db, [...new Set(tables)]);
  waits.push(...users.map((session) => `maintenance is waiting for ${describeWork(session)}`));
  return waits.length === 0
    ? ok('no long waits')
    : warn(waits.join('; '), 'end that transaction, or the session: select pg_terminate_backend(PID)');
}

/** Checks that no event claims a time that has not come. */
export async function checkEventTimes(access: DatabaseAccess): Promise<Finding> {
  const { db } = access.opened();
  const [ahead, unread] = [await countAhead(db), await countUnreadTimes(db)];
  const list = (counts: readonly WrongTimes[]) =>
    counts
      .map(
        ({ source, messageType, events }) => `${countOf(events, 'event')} of ${messageType} from ${source}`,
      )
      .join(', ');
  if (ahead.length > 0) {
    return warn(
      `in the future: ${list(ahead)}`,
      `correct the sender's clock; ${commandName()} events search --since ${new Date().toISOString()} lists them`,
    );
  }
  return unread.length === 0
    ? ok('none in the future; all times in the last hour were readable')
    : warn(
        `without a readable time in the last hour: ${list(unread)}`,
        'they have the time of their receipt, so a redelivered record is stored again; the page of an event shows the record as sent',
      );
}

/** Checks that no partition is older than the retention allows. */
export async function checkRetention(access: DatabaseAccess, config: Config): Promise<Finding> {
  const { retentionMonths } = config;
  const { passed } = await readPartitionState(access.opened().db, new Date(), retentionMonths);
  const kept = Object.entries(retentionMonths)
    .map(([name, months]) => `${name} ${describeMonths(months)}`)
    .join(', ');
  return passed.length === 0
    ? ok(kept)
    : warn(
        `${kept}; past retention: ${passed.join(', ')}`,
        'a worker drops them within an hour, unless a destination still needs their events: see destinations',
      );
}

const describeMonths = (months: number | undefined) =>
  months === undefined ? 'forever' : countOf(months, 'month');

/** A query may take so much longer than the check that it belongs to. */
const MARGIN_MS = 1_000;

interface OpenedDatabase {
  readonly db: Db;
  readonly databaseUrl: string;
  /** Whom an embedded server runs as. Undefined for any other server. */
  readonly serverUser?: string | undefined;
}

export type DatabaseAccess = ReturnType<typeof createDatabaseAccess>;

/** Access to the configured database for checks that take at most `limitMs`. */
export function createDatabaseAccess(config: Config, limitMs = LIMIT_MS) {
  let held: OpenedDatabase | undefined;
  let location: ReturnType<typeof locateDatabase> | undefined;
  let opening: Promise<OpenedDatabase | undefined> | undefined;

  async function openOnce(): Promise<OpenedDatabase | undefined> {
    if (config.databaseUrl === undefined && !hasCluster(config.dataDir)) return undefined;
    location = locateDatabase(config);
    const { databaseUrl } = await location;
    const serverUser =
      config.databaseUrl === undefined ? (await openCluster(config.dataDir)).user.description : undefined;
    const limits = { statementMs: limitMs + MARGIN_MS, silenceMs: limitMs + MARGIN_MS };
    const db = openLimited('inspecting', databaseUrl, () => undefined, limits);
    held = { databaseUrl, db, serverUser };
    return held;
  }

  return {
    /** Opens it once, and starts an embedded one that is not running. Undefined when it was never created. */
    open: () => (opening ??= openOnce()),
    /** The database that `open` opened. Throws before that. */
    opened(): OpenedDatabase {
      if (held === undefined) throw new Error('the database is not open yet');
      return held;
    },
    /** Closes it, and stops an embedded server that `open` started. */
    async close(): Promise<void> {
      await held?.db.destroy();
      await (await location?.catch(() => undefined))?.close();
    },
  };
}
