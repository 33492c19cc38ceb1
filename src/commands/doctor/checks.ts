import { checkAddedDestinations, checkAlertRules, destinationChecks } from './forwarding.ts';
import { commandName } from '../../lib/text/command-name.ts';
import type { Config, SourceConfig } from '../../config/config.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import { FULL_LIMIT_MS, LIMIT_MS, ok, type Check } from './check.ts';
import { checkArchive } from './archive.ts';
import { checkApi, checkSubscriptions } from './cloud.ts';
import type { DatabaseAccess } from './database.ts';
import { checkSchema, checkSeal, checkWitnessed } from './seal.ts';
import {
  checkConservation,
  checkDatabase,
  checkEventTimes,
  checkLocks,
  checkMigrations,
  checkPartitions,
  checkRetention,
  checkRoles,
  conservationLate,
} from './database.ts';
import { checkCloudClock, checkDatabaseClock, checkDataDirectory, checkDisk } from './machine.ts';
import { hasCloud } from '../../sources/cloud-sources.ts';
import { checkCertificate, checkPublicAddress } from './public-address.ts';
import { checkQueue, checkQueueOwner, checkSpool } from './queue.ts';

/** An embedded database is started first, and may have to recover after a crash. */
const EMBEDDED_LIMIT_MS = 60_000;

const DATABASE_REMEDY =
  'check DATABASE_URL and the roles (docs/operating.md#database-roles), and that the server accepts connections from this machine';
const EMBEDDED_REMEDY = 'see DATA_DIR/postgres/server.log';
const REDIS_REMEDY =
  'check REDIS_URL, and that the server is running and accepts connections from this machine';
const CLOUD_REMEDY = 'check CLOUD_API_URL, DNS and outgoing firewall rules';

/** All checks for these settings, in the order of the report: a check comes after those that it needs. */
export function checksOf(config: ServiceConfig, access: DatabaseAccess, isFull: boolean): Check[] {
  const isEmbedded = config.databaseUrl === undefined;
  const isQueueInPostgres = config.redisUrl === undefined;
  const databaseRemedy = isEmbedded ? EMBEDDED_REMEDY : DATABASE_REMEDY;
  return [
    { name: 'configuration', run: async () => ok(describeConfig(config)) },
    {
      name: 'database',
      limitMs: isEmbedded ? EMBEDDED_LIMIT_MS : LIMIT_MS,
      remedy: databaseRemedy,
      run: () => checkDatabase(access),
    },
    { name: 'migrations', needs: ['database'], remedy: databaseRemedy, run: () => checkMigrations(access) },
    { name: 'roles', needs: ['migrations'], run: () => checkRoles(access, config) },
    {
      name: 'queue',
      needs: isQueueInPostgres ? ['database', 'migrations'] : [],
      remedy: isQueueInPostgres ? databaseRemedy : REDIS_REMEDY,
      run: () => checkQueue(access, config),
    },
    ...(isQueueInPostgres
      ? []
      : [
          {
            name: 'queue owner',
            needs: ['migrations', 'queue'],
            run: () => checkQueueOwner(access, config),
          },
        ]),
    { name: 'spool', run: () => checkSpool(config) },
    { name: 'data directory', run: () => checkDataDirectory(config) },
    { name: 'disk', run: () => checkDisk(config) },
    { name: 'clock', needs: ['database'], run: () => checkDatabaseClock(access) },
    { name: 'certificate', run: (signal) => checkCertificate(config, signal) },
    { name: 'public address', run: (signal) => checkPublicAddress(config, signal) },
    ...config.sources.flatMap((source) => cloudChecks(source, config, access)),
    {
      name: 'conservation',
      needs: ['migrations'],
      limitMs: isFull ? FULL_LIMIT_MS : LIMIT_MS,
      whenLate: conservationLate(),
      run: () => checkConservation(access, isFull),
    },
    { name: 'schema', needs: ['migrations'], run: () => checkSchema(access) },
    { name: 'seal', needs: ['migrations'], run: () => checkSeal(access, config) },
    { name: 'witnessed logs', needs: ['migrations'], run: () => checkWitnessed(access, config) },
    { name: 'partitions', needs: ['migrations'], run: () => checkPartitions(access, config) },
    { name: 'event times', needs: ['migrations'], run: () => checkEventTimes(access) },
    { name: 'locks', needs: ['migrations'], run: () => checkLocks(access, config) },
    { name: 'retention', needs: ['migrations'], run: () => checkRetention(access, config) },
    {
      name: 'archive',
      needs: ['migrations'],
      remedy: 'see docs/archive.md#s3',
      run: () => checkArchive(access.opened().db, config),
    },
    ...destinationChecks(config.destinations, access),
    {
      name: 'destinations of the database',
      needs: ['migrations'],
      run: () => checkAddedDestinations(access, config),
    },
    { name: 'alert rules', needs: ['migrations'], run: () => checkAlertRules(access, config) },
  ];
}

function cloudChecks(source: SourceConfig, config: Config, access: DatabaseAccess): Check[] {
  if (!hasCloud(source)) return [];
  const withApi = config.sources.filter(hasCloud);
  const nameOf = (what: string) => (withApi.length > 1 ? `${what} of ${source.name}` : what);
  return [
    {
      name: nameOf('cloud clock'),
      remedy: CLOUD_REMEDY,
      run: (signal) => checkCloudClock(source.cloud.apiUrl, signal),
    },
    {
      name: nameOf('api'),
      // That check finds out first whether the cloud answers at all, and why not.
      needs: [nameOf('cloud clock')],
      remedy: CLOUD_REMEDY,
      run: (signal) => checkApi(source, access, signal),
    },
    {
      name: nameOf('subscriptions'),
      needs: ['migrations', nameOf('api')],
      remedy: `run ${commandName()} subscribe plan`,
      run: (signal) => checkSubscriptions(access, config, source.name, signal),
    },
  ];
}

function describeConfig({ sources, redisUrl, databaseUrl, durability }: Config): string {
  return [
    `${sources.length === 1 ? 'source' : 'sources'} ${sources.map(({ name }) => name).join(', ')}`,
    databaseUrl === undefined ? 'embedded database' : 'database server',
    `queue in ${redisUrl === undefined ? 'Postgres' : 'Redis'}`,
    `durability ${durability}`,
  ].join('; ');
}
