import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { pino } from 'pino';
import { storeDeliveries } from '../../support/actions.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { addDestination, setState } from '../../../src/store/destinations/destinations.ts';
import type { BlockedChange } from '../../../src/store/partitions/partition-changes.ts';
import { startMaintenance } from '../../../src/store/partitions/start-maintenance.ts';
import { maintainPartitions, readPartitionState } from '../../../src/store/partitions/partitions.ts';
import { readRange } from '../../../src/store/log/read-log.ts';
import { listActions } from '../../../src/store/access/operator-log.ts';
import { useDatabase } from '../../support/use-database.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { waitFor } from '../../support/wait-for.ts';
import { insertAudits } from '../../support/stored-rows.ts';

const test = useDatabase();

const insertAudit = (occurredAt: string) => insertAudits(test.db, { occurredAt });

const partitionOf = async (occurredAt: string) => {
  const rows = await test.query<{ partition: string }>`
    select tableoid::regclass::text as partition from audit_events where occurred_at = ${occurredAt}`;
  return rows.map(({ partition }) => partition);
};

describe('partitions', () => {
  it('exist from last month to three months ahead, across the end of a year, and are made once', async () => {
    const now = new Date('2031-11-30T23:59:59Z');
    const { created } = await maintainPartitions(test.db, now, {});
    expect(created.filter((name) => name.startsWith('log_entries'))).toEqual(
      ['2031_10', '2031_11', '2031_12', '2032_01', '2032_02'].map((month) => `log_entries_${month}`),
    );
    expect((await maintainPartitions(test.db, now, {})).created).toEqual([]);
  });

  it('split months at midnight UTC', async () => {
    await insertAudit('2031-11-30T23:59:59.999Z');
    await insertAudit('2031-12-01T00:00:00Z');
    expect(await partitionOf('2031-11-30T23:59:59.999Z')).toEqual(['audit_events_2031_11']);
    expect(await partitionOf('2031-12-01T00:00:00Z')).toEqual(['audit_events_2031_12']);
  });

  it('take over the rows of their month from the default partition, which is reported until then', async () => {
    await insertAudit('2035-05-05T05:05:05Z');
    const before = await maintainPartitions(test.db, new Date('2031-11-15T00:00:00Z'), {});
    const time = new Date('2035-05-05T05:05:05Z');
    const outside = { partition: 'audit_events_default', rows: 1, first: time, last: time };
    expect(before.inDefault).toEqual([outside]);
    const after = await maintainPartitions(test.db, new Date('2035-04-15T00:00:00Z'), {});
    expect(after.inDefault).toEqual([]);
    expect(await partitionOf('2035-05-05T05:05:05Z')).toEqual(['audit_events_2035_05']);
  });

  it('are dropped whole once retention has passed them, in their family only, and are named', async () => {
    const now = new Date('2032-02-10T00:00:00Z');
    await maintainPartitions(test.db, now, {});
    const { dropped, created } = await maintainPartitions(test.db, now, { audit: 2 });
    // Of 2035, there is an event that was received long before.
    expect(dropped.filter((name) => name >= 'audit_events_2031' && name < 'audit_events_2035')).toEqual([
      'audit_events_2031_10',
      'audit_events_2031_11',
    ]);
    expect(dropped.every((name) => name.startsWith('audit_events_'))).toBe(true);
    const recorded = await listActions(test.db, { limit: dropped.length });
    expect(recorded.map(({ subject }) => subject).toReversed()).toEqual(dropped);
    expect(recorded[0]).toMatchObject({
      operator: 'xiq-sink',
      via: 'system',
      action: 'retention.drop',
      outcome: 'done',
      details: { retention: 'audit' },
    });
    expect(created).toEqual([]);
    expect(await partitionOf('2031-11-30T23:59:59.999Z')).toEqual([]);
    expect(await partitionOf('2031-12-01T00:00:00Z')).toEqual(['audit_events_2031_12']);
  });

  it('wait for a destination that has not had all of their events, unless it is paused or not in the settings', async () => {
    const partition = 'audit_events_2033_01';
    await maintainPartitions(test.db, new Date('2033-02-10T00:00:00Z'), {});
    await insertAudit('2033-01-05T05:05:05Z');
    for (const name of ['siem', 'old']) await addDestination(test.db, name, 0);
    await untilSeen(test.db);
    await addDestination(test.db, 'ahead', (await readRange(test.db)).next);
    const maintain = async () => {
      const now = new Date('2033-06-10T00:00:00Z');
      const { held, missed } = await maintainPartitions(test.db, now, { audit: 3 }, ['siem', 'ahead']);
      const ours = (found: typeof held) =>
        found.filter((one) => one.partition === partition).map(({ destination }) => destination);
      return { held: ours(held), missed: ours(missed).toSorted() };
    };
    expect(await maintain()).toEqual({ held: ['siem'], missed: [] });
    expect(await partitionOf('2033-01-05T05:05:05Z')).toEqual([partition]);
    await setState(test.db, 'siem', 'paused');
    expect(await maintain()).toEqual({ held: [], missed: ['old', 'siem'] });
    expect(await partitionOf('2033-01-05T05:05:05Z')).toEqual([]);
  });

  it('are made once by programs that start at the same time', async () => {
    const now = new Date('2040-01-01T00:00:00Z');
    const reports = await Promise.all([1, 2, 3].map(() => maintainPartitions(test.db, now, {})));
    const created = reports.flatMap((report) => report.created);
    expect(created).toHaveLength(30);
    expect(new Set(created).size).toBe(30);
    expect(reports.flatMap(({ blocked }) => blocked)).toEqual([]);
  });

  it('lose no row that is stored while they take over those of the default partition', async () => {
    await insertAudits(test.db, { occurredAt: '2042-05-05T05:05:05Z', count: 8_000 });
    const done = new AbortController();
    // A change that waits too long for an insert or autovacuum is blocked, and tried again later.
    const maintaining = waitFor(async () => {
      const { blocked } = await maintainPartitions(test.db, new Date('2042-04-15T00:00:00Z'), {});
      return blocked.length === 0;
    }).finally(() => done.abort());
    let stored = 0;
    for (let second = 0; !done.signal.aborted; second += 1) {
      // Of a month without a partition; refused for as long as the rows are copied.
      await insertAudit(new Date(Date.UTC(2050, 0, 1, 0, 0, second)).toISOString()).then(
        () => (stored += 1),
        () => undefined,
      );
    }
    await maintaining;
    const rows = await test.query`
      select count(*)::int as stored from audit_events where occurred_at >= '2050-01-01'`;
    expect(rows).toEqual([{ stored }]);
  });

  it('are made of months outside of them only to be dropped by retention, those of the future by the time of receipt', async () => {
    const now = new Date('2060-06-10T00:00:00Z');
    const keep = { audit: 3 };
    await maintainPartitions(test.db, new Date('2060-02-10T00:00:00Z'), {});
    const times = ['0001-02-03', '1970-01-01', '2060-08-08', '2061-03-03', '2190-01-01', '9999-12-31'];
    for (const time of times) await insertAudits(test.db, { occurredAt: time, receivedAt: '2060-02-01' });
    await insertAudits(test.db, { occurredAt: '2199-01-01', receivedAt: '2060-02-01' });
    await insertAudits(test.db, { occurredAt: '2199-01-02', receivedAt: '2060-06-01' });
    expect((await readPartitionState(test.db, now, keep)).passed).toContain('audit_events_default');
    const { dropped, blocked } = await maintainPartitions(test.db, now, keep);
    expect(blocked).toEqual([]);
    expect(dropped.filter((name) => !/_20\d\d_/.test(name))).toEqual([
      'audit_events_0001_02',
      'audit_events_1970_01',
      'audit_events_2190_01',
      'audit_events_9999_12',
    ]);
    const left = [...times, '2199-01-01', '2199-01-02'].map(partitionOf);
    const kept = ['audit_events_2060_08', ...Array.from({ length: 3 }, () => 'audit_events_default')];
    expect((await Promise.all(left)).flat()).toEqual(kept);
    // A lock that is late is left for the next round.
    await waitFor(async () => {
      const later = await maintainPartitions(test.db, new Date('2060-10-10T00:00:00Z'), keep);
      return later.dropped.includes('audit_events_2199_01');
    });
  });

  it('of the past are made for the events of a delivery before these are stored, from 2015 on', async () => {
    const times = ['2014-12-31', '2015-01-01', '2019-02-03', '2019-03-04'].map((day) => `${day}T00:00:00Z`);
    const records = times.map((time) => auditRecord({ timeStamp: Date.parse(time) }));
    await storeDeliveries(test.service, queuedDelivery('AUDIT_LOG_ALL', records));
    const partitions = await Promise.all(times.map(partitionOf));
    expect(partitions.flat()).toEqual(
      ['default', '2015_01', '2019_02', '2019_03'].map((part) => `audit_events_${part}`),
    );
  });

  it('are named by maintenance while a reader keeps one from being dropped', async () => {
    const warnings: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => warnings.push(line) });
    let blocked: readonly BlockedChange[] = [];
    await using started = new AsyncDisposableStack();
    // This month was dropped above, with those of 2032.
    await maintainPartitions(test.db, new Date(), {});
    const reader = await test.db.startTransaction().execute();
    started.defer(() => reader.rollback().execute());
    await sql`select from audit_events limit 1`.execute(reader);
    // The other tables get their months. The other months of this one would wait for the same lock.
    const others = await maintainPartitions(test.db, new Date('2021-06-10T00:00:00Z'), {});
    expect(others.blocked.map(({ partition }) => partition)).toEqual(['audit_events_2021_05']);
    expect(others.created.filter((name) => name.startsWith('log_entries'))).toHaveLength(5);
    const config = { retentionMonths: { audit: 12 } };
    const onBlocked = (now: typeof blocked) => (blocked = now);
    await startMaintenance({ db: test.db, config, destinations: () => [], onBlocked, logger }, started);
    const changes = ['create 2014_12', 'drop 2015_01', 'drop 2019_02', 'drop 2019_03'].map((change) =>
      change.replace(' ', ' audit_events_'),
    );
    expect(blocked.map(({ action, partition }) => `${action} ${partition}`)).toEqual(changes);
    const told = changes.map((change) => `is waiting to ${change}, because audit_events is in use: pid`);
    expect(warnings).toEqual(
      ['rows are in the default partition', ...told].map((text): unknown => expect.stringContaining(text)),
    );
  });
});
