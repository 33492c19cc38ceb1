import { sql, type Selectable } from 'kysely';
import { z } from 'zod';
import type { Db } from './database.ts';
import type { Tables } from './schema/tables.ts';

/** The figures that a process reports: rates and percentiles over the last minute, the others as of now. */
export const ProcessFigures = z.object({
  /** Null in a process that accepts no deliveries. */
  answers: z
    .object({ perSecond: z.number(), p50Ms: z.number(), p99Ms: z.number(), refusedPerSecond: z.number() })
    .nullable(),
  spool: z.object({ bytes: z.number(), segments: z.number(), oldestSeconds: z.number() }).nullable(),
  queueWorks: z.boolean().nullable(),
  /** Figures of the storing transactions; null in a process that stores nothing. */
  storing: z.object({ eventsPerSecond: z.number(), p50Ms: z.number(), p99Ms: z.number() }).nullable(),
  /** Resident memory. */
  memoryBytes: z.number(),
  eventLoopDelayP99Ms: z.number(),
  /** Percent of one core. */
  cpuPercent: z.number(),
  /** The checks of its readiness that need attention. Earlier versions do not report them. */
  problems: z.array(z.object({ name: z.string(), state: z.string(), why: z.string() })).optional(),
});

export type ProcessFigures = z.infer<typeof ProcessFigures>;

export type ProcessIdentity = Omit<Selectable<Tables['processes']>, 'seen_at' | 'figures'>;

export type ReportedProcess = Omit<Selectable<Tables['processes']>, 'figures'> & {
  /** Null when another version wrote figures that this version cannot read. */
  readonly figures: ProcessFigures | null;
  /** Whether it has reported in the last 30 s. */
  readonly is_alive: boolean;
};

const A_DAY_AGO = sql<Date>`now() - interval '1 day'`;

/** Records that a process is alive, and its figures. Deletes processes that have not reported for a day. */
export async function reportProcess(db: Db, process: ProcessIdentity, figures: ProcessFigures) {
  const seen = { seen_at: sql<Date>`now()`, figures: JSON.stringify(figures) };
  await db
    .with('forgotten', (cte) =>
      cte
        .deleteFrom('processes')
        .where('seen_at', '<', A_DAY_AGO)
        .where('process_id', '<>', process.process_id),
    )
    .insertInto('processes')
    .values({ ...process, ...seen })
    .onConflict((conflict) => conflict.column('process_id').doUpdateSet(seen))
    .execute();
}

/** The processes that reported within the last day, live ones first. */
export async function listProcesses(db: Db): Promise<ReportedProcess[]> {
  const rows = await db
    .selectFrom('processes')
    .selectAll()
    .select(sql<boolean>`seen_at > now() - interval '30 seconds'`.as('is_alive'))
    .where('seen_at', '>', A_DAY_AGO)
    .orderBy('is_alive', 'desc')
    .orderBy('role')
    .orderBy('host')
    .orderBy('started_at')
    .execute();
  return rows.map((row) => ({ ...row, figures: ProcessFigures.safeParse(row.figures).data ?? null }));
}

export async function removeProcess(db: Db, processId: string): Promise<void> {
  await db.deleteFrom('processes').where('process_id', '=', processId).execute();
}
