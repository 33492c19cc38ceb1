import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** What people have done with this service: who, when, what, and how it ended. Rows stay; each is ended once. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table operator_log (
      id bigint generated always as identity primary key,
      began_at timestamptz not null default now(),
      operator text not null,
      via text not null check (via in ('console', 'api', 'command')),
      action text not null,
      subject text,
      details jsonb not null default '{}',
      ended_at timestamptz,
      outcome text check (outcome in ('done', 'failed')),
      result jsonb,
      check ((ended_at is null) = (outcome is null))
    )`.execute(db);
  const comments = {
    'table operator_log': 'What people have done by console, API or command line',
    'column operator_log.operator': 'Who: the name given at log-in, or user and host of the command line',
    'column operator_log.subject': 'What it was done to: a destination, an id, a source',
    'column operator_log.outcome':
      'done or failed; null while it goes on, or for ever when its process was killed',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }

  await sql`
    create function end_once() returns trigger language plpgsql as $$
    begin
      if old.outcome is null and new.outcome is not null
        and (new.id, new.began_at, new.operator, new.via, new.action, new.subject, new.details)
          is not distinct from
            (old.id, old.began_at, old.operator, old.via, old.action, old.subject, old.details)
      then
        return new;
      end if;
      raise exception 'update on operator_log is refused: what is stored stays as it was written'
        using errcode = 'insufficient_privilege', hint = 'An action is ended once.';
    end $$`.execute(db);
  await sql`
    create trigger end_once before update on operator_log
      for each row execute function end_once()`.execute(db);
  await sql`
    create trigger refuse_change before delete on operator_log
      for each row execute function refuse_change()`.execute(db);
  await sql`select guard_table('operator_log')`.execute(db);
  await sql`grant update (ended_at, outcome, result) on operator_log to current_user`.execute(db);
}
