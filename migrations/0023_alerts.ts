import { sql } from 'kysely';
import type { Kysely } from 'kysely';

/** Programs without this migration evaluate no rules: those with it continue where they were. */
export const olderProgramsMayRun = true;

/** Alerts that rules raised, what the rules remember, and how far in the log they are. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table alerts (
      id bigint generated always as identity primary key,
      raised_at timestamptz not null default now(),
      rule text not null,
      title text not null,
      severity text not null check (severity in ('low', 'medium', 'high', 'critical')),
      source text not null,
      grouped_by jsonb not null,
      event_count integer not null,
      first_at timestamptz not null,
      last_at timestamptz not null,
      causes jsonb not null,
      destinations text[],
      is_stored boolean not null default false
    )`.execute(db);
  await sql`create index alerts_raised_at on alerts (raised_at)`.execute(db);
  await sql`create index alerts_to_store on alerts (id) where not is_stored`.execute(db);
  await sql`
    create table rule_states (
      rule text not null,
      fingerprint text not null,
      grouped_by text not null,
      state jsonb not null,
      primary key (rule, grouped_by)
    )`.execute(db);
  await sql`
    create table rule_progress (
      only_row boolean primary key default true check (only_row),
      position bigint,
      rules jsonb not null default '{}',
      changes bigint not null default 0,
      evaluated_at timestamptz
    )`.execute(db);
  await sql`insert into rule_progress default values`.execute(db);
  await sql`grant select on alerts, rule_progress to xiq_reader`.execute(db);
  const comments = {
    'table alerts': 'Alerts that rules raised',
    'column alerts.grouped_by': 'The columns that the rule groups by, with their values',
    'column alerts.event_count': 'Events that caused it, or distinct values',
    'column alerts.causes': 'The latest 100 of them: event_id and occurred_at',
    'column alerts.destinations': 'Destinations that receive it; null: all',
    'column alerts.is_stored': 'Whether it is an event, too',
    'table rule_states': 'What rules remember of the groups that they look at',
    'table rule_progress': 'How far in the log the rules are; locked by the process that evaluates them',
    'column rule_progress.position': 'Position in the log of the next event; null: no rule was ever on',
    'column rule_progress.rules': 'The rules that are on, and the fingerprint of their settings',
    'column rule_progress.changes':
      'Counts the steps: a process that did not make the last one reads the states again',
  };
  for (const [object, text] of Object.entries(comments)) {
    await sql`comment on ${sql.raw(object)} is ${sql.lit(text)}`.execute(db);
  }
}
