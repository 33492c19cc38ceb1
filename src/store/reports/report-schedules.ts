import { sql, type Insertable } from 'kysely';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import type { Db, Trx } from '../server/database.ts';
import type { Tables } from '../server/schema/tables.ts';

export type ScheduleProgress = Awaited<ReturnType<typeof readSchedules>>[number];

const NO_FAILURE = { attempts: 0, retry_at: null, last_error: null } as const;

/** Notes a schedule. One that is known continues, unless its periods are others now. */
export async function openSchedule(
  db: Db,
  { name, every, zone, since }: Pick<ScheduleProgress, 'name' | 'every' | 'zone'> & Pick<WholeRange, 'since'>,
): Promise<void> {
  const periods = { every, time_zone: zone, next_since: since };
  await db
    .insertInto('report_schedules')
    .values({ name, ...periods })
    .onConflict((exists) =>
      exists
        .column('name')
        .doUpdateSet({ ...periods, ...NO_FAILURE })
        .where((is) =>
          is.or([is('report_schedules.every', '<>', every), is('report_schedules.time_zone', '<>', zone)]),
        ),
    )
    .execute();
}

/** The next period of each of these schedules, by name, the failed attempts to report on it, and the latest report sent. */
export async function readSchedules(db: Db, names: readonly string[]) {
  return db
    .selectFrom('report_schedules')
    .leftJoinLateral(
      (one) =>
        one
          .selectFrom('reports_sent')
          .select(['sent_at as sentAt', 'since as sentSince'])
          .whereRef('schedule', '=', 'name')
          .orderBy('since', 'desc')
          .limit(1)
          .as('sent'),
      (join) => join.onTrue(),
    )
    .select(['name', 'every', 'time_zone as zone', 'next_since as nextSince', 'attempts'])
    .select(['last_error as lastError', 'sentAt', 'sentSince'])
    .where(sql<boolean>`name = any(${names}::text[])`)
    .orderBy('name')
    .execute();
}

/**
 * Takes a lease on sending the next report of a schedule, for this many seconds: false if another process has it, if the report
 * was sent in the meantime, or if the pause after a failure is not over.
 */
export async function leaseReport(db: Db, name: string, since: Date, seconds: number): Promise<boolean> {
  const { numUpdatedRows } = await updateNext(db, name, since)
    .set({ leased_until: sql`now() + make_interval(secs => ${seconds})` })
    .where(sql<boolean>`coalesce(leased_until <= now(), true) and coalesce(retry_at <= now(), true)`)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

const updateNext = (db: Db, name: string, since: Date) =>
  db.updateTable('report_schedules').where('name', '=', name).where('next_since', '=', since);

/** Notes that a report was sent: the next one is that of the period after it. */
export async function recordSent(
  trx: Trx,
  report: Insertable<Tables['reports_sent']> & WholeRange,
): Promise<void> {
  await trx
    .insertInto('reports_sent')
    .values(report)
    .onConflict((exists) => exists.columns(['schedule', 'since']).doNothing())
    .execute();
  await updateNext(trx, report.schedule, report.since)
    .set({ next_since: report.until, leased_until: null, ...NO_FAILURE })
    .execute();
}

/** Notes that a report could not be sent, and for how many seconds to wait. */
export async function recordNotSent(db: Db, name: string, since: Date, error: string, seconds: number) {
  await updateNext(db, name, since)
    .set({
      leased_until: null,
      attempts: sql`attempts + 1`,
      last_error: error,
      retry_at: sql`now() + make_interval(secs => ${seconds})`,
    })
    .execute();
}
