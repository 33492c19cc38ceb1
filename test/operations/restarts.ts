import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import type { BalancerName } from '../support/balancer.ts';
import { waitFor } from '../support/wait-for.ts';
import { openWholeFleet, restartEach, type Fleet } from './fleet.ts';
import { type Ground } from './ground.ts';
import { makeNewerProgram } from './newer-program.ts';
import type { Scenario, Stage } from './scenario.ts';
import { redisQueue } from './waiting.ts';

/** Stops and starts every process in turn while deliveries arrive. */
export const RESTARTS: readonly Scenario[] = [
  {
    name: 'rolling restart, HAProxy',
    refusesNone: true,
    open: (ground) => openRestart(ground, 'haproxy', ({ fleet }) => restartEach(fleet.members)),
  },
  {
    name: 'rolling restart, nginx',
    refusesNone: true,
    open: (ground) => openRestart(ground, 'nginx', ({ fleet }) => restartEach(membersOf(fleet, 'ingest'))),
  },
  {
    name: 'upgrade and roll-back',
    refusesNone: true,
    open: (ground) => openRestart(ground, 'haproxy', upgrade),
  },
  {
    name: 'kill -9 in the middle of a migration, then upgrade',
    refusesNone: true,
    open: (ground) => openRestart(ground, 'haproxy', upgradeAfterKill),
  },
];

interface Opened {
  readonly ground: Ground;
  readonly fleet: Fleet;
  readonly databaseUrl: string;
}

async function openRestart(
  ground: Ground,
  balancer: BalancerName,
  act: (opened: Opened) => Promise<unknown>,
): Promise<Stage> {
  const { databaseUrl, redis, fleet } = await openWholeFleet(ground, balancer);
  return {
    fleet,
    databaseUrl,
    readQueue: redisQueue(() => [redis.port]),
    act: async () => void (await act({ ground, fleet, databaseUrl })),
  };
}

const membersOf = (fleet: Fleet, ...roles: readonly string[]) =>
  fleet.members.filter(({ role }) => roles.includes(role));

const readersOf = (fleet: Fleet) => membersOf(fleet, 'worker', 'forward', 'console');

const migrate = (program: string, databaseUrl: string, directory: string) =>
  promisify(execFile)(program, ['migrate'], {
    env: { PATH: process.env['PATH'], DATABASE_URL: databaseUrl, DATA_DIR: directory },
    killSignal: 'SIGKILL',
  });

const PAUSE_SECONDS = 3;

/** The first attempt is killed with its changes made and not committed. What runs goes on, and the second one succeeds. */
async function upgradeAfterKill({ ground, fleet, databaseUrl }: Opened): Promise<void> {
  const directory = path.join(ground.directory, 'newer');
  await mkdir(directory);
  const newer = await makeNewerProgram(directory, PAUSE_SECONDS);
  const attempt = migrate(newer, databaseUrl, directory);
  const failed = attempt.catch(() => 'killed');
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await waitFor(async () => {
    const asleep = `select from pg_stat_activity where query = 'select pg_sleep(${PAUSE_SECONDS})'`;
    return (await client.query(asleep)).rowCount === 1;
  });
  attempt.child.kill('SIGKILL');
  if ((await failed) !== 'killed') throw new Error('the migration ended before it was killed');
  const { rowCount } = await client.query(`select from kysely_migration where name = '9999_newer'`);
  await client.end();
  if (rowCount !== 0) throw new Error('the killed migration counts as applied');
  await migrate(newer, databaseUrl, directory);
  await restartEach(readersOf(fleet), newer);
  await restartEach(membersOf(fleet, 'ingest'), newer);
}

/** Up: the schema, what reads jobs, what writes them. Back in the reverse order; the schema stays. */
async function upgrade({ ground, fleet, databaseUrl }: Opened): Promise<void> {
  const directory = path.join(ground.directory, 'newer');
  await mkdir(directory);
  const newer = await makeNewerProgram(directory);
  await migrate(newer, databaseUrl, directory);
  const readers = readersOf(fleet);
  const writers = membersOf(fleet, 'ingest');
  await restartEach(readers, newer);
  await restartEach(writers, newer);
  await ground.wait(ground.pace.before);
  await restartEach(writers);
  await restartEach(readers);
}
