import { sql, type Kysely } from 'kysely';

/** A program without this cannot read what rules remember of an event from the future. */
export const olderProgramsMayRun = false;

/** What lies beyond this was moved there by an event from the future: no rule is quiet for longer than 31 days. */
const BEYOND = sql`now() + interval '32 days'`;

/**
 * A time that a sender writes moves nothing beyond its receipt. What events from the future have moved before comes back:
 * when people and devices were seen, what rules remember, and until when records are refused.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    update seen set audit_at = least(audit_at, now()), location_at = least(location_at, now()), log_at = least(log_at, now())
    where last_seen > now()`.execute(db);
  await sql`delete from seen_days where day > (now() at time zone 'UTC')::date`.execute(db);
  await sql`
    delete from rule_states where jsonb_path_exists(state, '$.** ? (@.type() == "number" && @ > $beyond)',
      jsonb_build_object('beyond', extract(epoch from ${BEYOND}) * 1000))`.execute(db);
  await sql`update refused_records set until = now() where until > now()`.execute(db);
}
