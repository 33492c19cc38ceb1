import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  listProcesses,
  reportProcess,
  type ProcessFigures,
  type ProcessIdentity,
} from '../../../src/store/server/processes.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
beforeEach(() => test.db.deleteFrom('processes').execute());

const FIGURES: ProcessFigures = {
  answers: { perSecond: 12.5, p50Ms: 3, p99Ms: 20, refusedPerSecond: 0 },
  spool: { bytes: 0, segments: 0, oldestSeconds: 0 },
  queueWorks: true,
  storing: null,
  memoryBytes: 100_000_000,
  eventLoopDelayP99Ms: 4,
  cpuPercent: 30,
};

const identity = (role: string): ProcessIdentity => ({
  process_id: randomUUID(),
  role,
  host: 'host-1',
  pid: 42,
  version: '0.1.0',
  started_at: new Date('2026-01-31T08:00:00Z'),
});

const lastSeen = (processId: string, ago: string) =>
  test.db
    .updateTable('processes')
    .set({ seen_at: sql<Date>`now() - ${ago}::interval` })
    .where('process_id', '=', processId)
    .execute();

describe('the processes', () => {
  it('are listed as they reported last, each once', async () => {
    const ingest = identity('ingest');
    await reportProcess(test.db, ingest, FIGURES);
    await reportProcess(test.db, ingest, { ...FIGURES, queueWorks: false });
    const listed = await listProcesses(test.db);
    expect(listed).toHaveLength(1);
    expect(listed[0]).toMatchObject({
      process_id: ingest.process_id,
      role: 'ingest',
      host: 'host-1',
      pid: 42,
      started_at: ingest.started_at,
      is_alive: true,
      figures: { ...FIGURES, queueWorks: false },
    });
  });

  it('are taken for dead after 30 s, behind the living, and are forgotten after a day by who reports next', async () => {
    const [dead, gone, alive] = [identity('all'), identity('all'), identity('worker')];
    for (const process of [dead, gone, alive]) await reportProcess(test.db, process, FIGURES);
    await lastSeen(dead.process_id, '31 seconds');
    await lastSeen(gone.process_id, '25 hours');
    expect((await listProcesses(test.db)).map((one) => [one.process_id, one.is_alive])).toEqual([
      [alive.process_id, true],
      [dead.process_id, false],
    ]);
    await reportProcess(test.db, alive, FIGURES);
    const kept = await test.db.selectFrom('processes').select('process_id').execute();
    expect(kept.map((row) => row.process_id).toSorted()).toEqual(
      [dead.process_id, alive.process_id].toSorted(),
    );
  });

  it('are listed without figures where another version wrote others', async () => {
    const newer = identity('all');
    await reportProcess(test.db, newer, FIGURES);
    await test.db
      .updateTable('processes')
      .set({ figures: JSON.stringify({ speed: 'high' }) })
      .execute();
    expect((await listProcesses(test.db))[0]).toMatchObject({ process_id: newer.process_id, figures: null });
  });
});
