import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { query } from '../../support/query.ts';
import { fakeClockLibrary, fakeClockSettings, setClock } from '../../faults/clock.ts';
import { verifySeal } from '../../faults/verify-seal.ts';
import { startDebianPostgres } from '../../support/debian-postgres.ts';
import { openFleet } from '../fleet.ts';
import { createService, type Ground, startRedisFor } from '../ground.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { redisQueue } from '../waiting.ts';

/** Midnight of a year's end, for the service, its Postgres and its senders. */
export const END_OF_YEAR: Scenario = {
  name: 'midnight of the year',
  refusesNone: true,
  open: openYear,
};

/** What starting everything takes before the load begins, with room to spare on a busy machine. */
const STARTING_MS = 60_000;

const SEAL_PATIENCE_MS = 30_000;

async function openYear(ground: Ground): Promise<Stage> {
  const { directory, stack, pace, wait } = ground;
  const library = fakeClockLibrary();
  if (library === undefined) throw new Error('libfaketime is not installed');
  const year = new Date().getUTCFullYear() + 1;
  const midnight = Date.UTC(year, 0, 1);
  const seconds = Math.round((midnight - Date.now() - STARTING_MS - pace.before - pace.lasting / 2) / 1_000);
  const clock = () => Date.now() + seconds * 1_000;
  const clockFile = path.join(directory, 'clock');
  await setClock(clockFile, seconds);
  await chmod(clockFile, 0o644);
  const faked = fakeClockSettings(library, clockFile);
  const postgres = await startDebianPostgres({ environment: faked });
  stack.defer(() => postgres.stop());
  const databaseUrl = await createService(postgres.url);
  const redis = await startRedisFor(ground);
  const settings = { DATABASE_URL: databaseUrl, REDIS_URL: `redis://127.0.0.1:${redis.port}`, ...faked };
  const fleet = await openFleet({ directory, settings, isWhole: true }, stack);
  return {
    fleet,
    databaseUrl,
    readQueue: redisQueue(() => [redis.port]),
    clock,
    async act() {
      if (clock() > midnight) throw new Error('the year ended before the load began');
      await wait(midnight - clock() + pace.lasting / 2);
      return undefined;
    },
    async check() {
      const { unsealed, findings } = await verifySeal(
        databaseUrl,
        SEAL_PATIENCE_MS,
        new AbortController().signal,
      );
      return [
        ...(unsealed > 0 ? [`${unsealed} not sealed`] : []),
        ...findings,
        ...(await findMisplaced(databaseUrl, year)),
      ];
    },
  };
}

/** Both years have events, each in the partition of its month, and none waits in the default one. */
async function findMisplaced(databaseUrl: string, year: number): Promise<string[]> {
  const rows = await query<{ month: string; partition: string; count: number }>(
    databaseUrl,
    `select to_char(occurred_at at time zone 'UTC', 'YYYY_MM') as month, tableoid::regclass::text as partition,
       count(*)::int as count from audit_events group by 1, 2`,
  );
  const months = [`${year - 1}_12`, `${year}_01`];
  return [
    ...months
      .filter((month) => !rows.some((row) => row.month === month))
      .map((month) => `no events of ${month}`),
    ...rows
      .filter(({ month, partition }) => !months.includes(month) || !partition.endsWith(month))
      .map(({ month, partition, count }) => `${count} events of ${month} in ${partition}`),
  ];
}
