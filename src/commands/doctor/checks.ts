import type { Config, SourceConfig } from '../../config.ts';
import { destinationNames } from '../../config.ts';
import { checkCertificate } from './certificate.ts';
import { LIMIT_MS, ok } from './check.ts';
import type { Check } from './check.ts';
import { checkCloudClock, checkDatabaseClock } from './clock.ts';
import { checkApi, checkSubscriptions } from './cloud.ts';
import type { DatabaseAccess } from './database-access.ts';
import { checkDatabase, checkMigrations } from './database.ts';
import { checkDestination } from './destinations.ts';
import { checkDisk, checkSpool } from './disk.ts';
import { checkPublicAddress } from './public-address.ts';
import { checkQueue } from './queue.ts';
import { checkConservation, checkPartitions, checkRetention, CONSERVATION_LATE } from './tables.ts';

/** An embedded database is started first, and may have to recover from a crash. */
const EMBEDDED_LIMIT_MS = 60_000;

const DATABASE_REMEDY = 'check that the server runs, and lets this machine in with what DATABASE_URL says';
const EMBEDDED_REMEDY = 'look into DATA_DIR/postgres/server.log';
const REDIS_REMEDY = 'check REDIS_URL, and that the server runs and lets this machine in';
const CLOUD_REMEDY = 'check CLOUD_API_URL, and that name servers and firewall let this machine out';

/** All checks of these settings, in the order of the report: what others need stands before them. */
export function checksOf(config: Config, access: DatabaseAccess): Check[] {
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
    {
      name: 'queue',
      needs: isQueueInPostgres ? ['database', 'migrations'] : [],
      remedy: isQueueInPostgres ? databaseRemedy : REDIS_REMEDY,
      run: () => checkQueue(access, config),
    },
    { name: 'spool', run: () => checkSpool(config) },
    { name: 'disk', run: () => checkDisk(config) },
    { name: 'clock', needs: ['database'], run: () => checkDatabaseClock(access) },
    { name: 'certificate', run: (signal) => checkCertificate(config, signal) },
    { name: 'public address', run: (signal) => checkPublicAddress(config, signal) },
    ...config.sources.flatMap((source) => cloudChecks(source, config, access)),
    {
      name: 'conservation',
      needs: ['migrations'],
      whenLate: CONSERVATION_LATE,
      run: () => checkConservation(access),
    },
    { name: 'partitions', needs: ['migrations'], run: () => checkPartitions(access, config) },
    { name: 'retention', needs: ['migrations'], run: () => checkRetention(access, config) },
    ...destinationChecks(config, access),
  ];
}

/** What is asked of the cloud of one source. */
function cloudChecks({ name: source, cloud }: SourceConfig, config: Config, access: DatabaseAccess): Check[] {
  if (cloud === undefined) return [];
  const withApi = config.sources.filter((one) => one.cloud !== undefined);
  const nameOf = (what: string) => (withApi.length > 1 ? `${what} of ${source}` : what);
  return [
    {
      name: nameOf('cloud clock'),
      remedy: CLOUD_REMEDY,
      run: (signal) => checkCloudClock(cloud.apiUrl, signal),
    },
    {
      name: nameOf('api'),
      // Whether the cloud answers at all is known there, at once and with the reason.
      needs: [nameOf('cloud clock')],
      remedy: CLOUD_REMEDY,
      run: (signal) => checkApi(cloud, signal),
    },
    {
      name: nameOf('subscriptions'),
      needs: ['migrations', nameOf('api')],
      remedy: 'look: xiq-sink subscribe plan',
      run: (signal) => checkSubscriptions(access, config, source, signal),
    },
  ];
}

function destinationChecks({ forwarding }: Config, access: DatabaseAccess): Check[] {
  const names = destinationNames(forwarding);
  if (names.length === 0) {
    return [{ name: 'destinations', run: async () => ok('none are set: nothing is forwarded') }];
  }
  return names.map((name) => ({
    name: `destination ${name}`,
    needs: ['migrations'],
    run: () => checkDestination(access, name),
  }));
}

function describeConfig({ sources, redisUrl, databaseUrl, durability }: Config): string {
  return [
    `${sources.length === 1 ? 'source' : 'sources'} ${sources.map(({ name }) => name).join(', ')}`,
    databaseUrl === undefined ? 'embedded database' : 'own database',
    `queue in ${redisUrl === undefined ? 'Postgres' : 'Redis'}`,
    `durability ${durability}`,
  ].join('; ');
}
