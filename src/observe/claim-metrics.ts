import type { Registry } from 'prom-client';
import type { Config } from '../config/config.ts';
import { cached } from '../lib/cached.ts';
import { lastBackupAt } from '../store/access/operator-log.ts';
import { readConservation } from '../store/counts/read-arrivals.ts';
import { readPartitionState } from '../store/partitions/partitions.ts';
import { readSealFacts } from '../store/seal/verifications.ts';
import type { Db } from '../store/server/database.ts';
import { ALL_SOURCES } from '../store/server/scope.ts';
import { metersOf } from './metrics.ts';

/** They count rows: a scrape reads them at most once a minute, and waits 2 s for them. */
const CACHE = { keepMs: 60_000, timeoutMs: 2_000 };

const ageOf = (at: Date | undefined) => at && Math.max(0, Date.now() - at.getTime()) / 1_000;

type Settings = Pick<Config, 'databaseUrl' | 'retentionMonths'>;

/** Registers the metrics that show whether the central claims hold: "Claims and their alarms" in docs/running.md. */
export function registerClaimMetrics(registry: Registry, db: Db, config: Settings): void {
  const { gauge } = metersOf(registry);
  const seal = cached(() => readSealFacts(db), CACHE);
  const sums = cached(() => readConservation(db, ALL_SOURCES), CACHE);
  const partitions = cached(() => readPartitionState(db, new Date(), config.retentionMonths), CACHE);
  const backup = cached(() => lastBackupAt(db), CACHE);
  gauge(
    'verify_findings',
    'Sealed rows that differ from the seal: altered or missing',
    async () => {
      const verified = (await seal())?.verified;
      return (
        verified && (['altered', 'missing'] as const).map((state) => [{ state }, verified[state]] as const)
      );
    },
    'state',
  );
  gauge(
    'verify_age_seconds',
    'Time since all sealed rows were compared with the seal, each at least once',
    async () => ageOf((await seal())?.verified.since),
  );
  gauge('seal_behind_events', 'Stored events that are not sealed yet', async () => (await seal())?.waiting);
  gauge(
    'seal_behind_seconds',
    'Age of the oldest stored event that is in no checkpoint; 0 if all are',
    async () => {
      const facts = await seal();
      return facts && ageOf(facts.unsignedSince ?? new Date());
    },
  );
  const unbalanced =
    'Sources and message types with accepted records that are neither stored nor in quarantine';
  gauge('conservation_unbalanced', unbalanced, async () => (await sums())?.unbalanced.length);
  gauge(
    'default_partition_rows',
    'Rows outside the partitions of their months, at most 10,001 of each table',
    async () => (await partitions())?.inDefault.map(({ partition, rows }) => [{ partition }, rows] as const),
    'partition',
  );
  const overdue = 'Partitions past their retention that still exist';
  gauge('retention_overdue_partitions', overdue, async () => (await partitions())?.passed.length);
  const age = 'Age of the last backup of the embedded database; without one, of the installation';
  gauge('backup_age_seconds', age, async () =>
    config.databaseUrl === undefined ? ageOf(await backup()) : undefined,
  );
}
