import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { compareSchema } from '../../../../src/store/server/schema/compare-schema.ts';
import { maintainPartitions } from '../../../../src/store/partitions/partitions.ts';
import { useDatabase } from '../../../support/use-database.ts';

const test = useDatabase({ forEach: true });

const run = (statement: string) => sql.raw(statement).execute(test.db);

/** What is named, and below it what an attacker with the rights of the owner does. */
const ATTACKS = `
trigger swallow on audit_events: it calls swallow
  create function swallow() returns trigger language plpgsql as $$ begin return null; end $$;
  create trigger swallow before insert on audit_events for each row execute function swallow()
trigger keep_sent_type on audit_events: it calls rewrite
  create function rewrite() returns trigger language plpgsql as $$ begin new.user_name := 'x'; return new; end $$;
  create trigger keep_sent_type before insert on audit_events for each row execute function rewrite()
trigger refuse_change on quarantine: it is disabled
  alter table quarantine disable trigger refuse_change
trigger refuse_truncate on audit_events_default: it is gone
  drop trigger refuse_truncate on audit_events_default
trigger refuse_change on erasures: it is gone
  drop trigger refuse_change on erasures
rule quiet on gaps: no rules
  create rule quiet as on insert to gaps do instead nothing
policy mine on saved_searches: no policies
  create policy mine on saved_searches
row security of operator_log: hides rows
  alter table operator_log enable row level security
function refuse_change: its definition was changed
  create or replace function refuse_change() returns trigger language plpgsql as $$ begin return new; end $$
function create_month: it belongs to postgres
  alter function create_month owner to postgres
function drop_detached: it no longer runs with the privileges of its owner
  alter function drop_detached security invoker
function move_month: it sets search_path=elsewhere; timezone=utc while it runs
  alter function move_month set search_path = elsewhere
function create_like: it runs with the privileges of its owner
  alter function create_like security definer
trigger refuse_change on superseded_events: its definition was changed
  create or replace trigger refuse_change before update or delete on superseded_events for each row
    when (false) execute function refuse_change();
  alter table superseded_events enable always trigger refuse_change
trigger refuse_change on audit_events: its definition was changed
  create or replace trigger refuse_change before update on audit_events for each row execute function refuse_change();
  alter table audit_events enable always trigger refuse_change
trigger queue_statement_insert on gaps: its definition was changed
  create or replace trigger queue_statement_insert after insert on gaps for each row
    when (false) execute function queue_statement('gap', 'id')
table elsewhere.other_events_default: a part of other_events
  create schema elsewhere; alter table other_events_default set schema elsewhere
table log_kinds: it is gone
  alter table log_kinds rename to hidden_kinds; create view log_kinds as table hidden_kinds
view accounting_log: it is gone
  alter view accounting_log rename to no_log
table quarantine: a crash of the server empties it
  alter table quarantine set unlogged
index mine: which rows are duplicates
  create unique index mine on log_entries_default ((true)) where username = 'zoe'
check mine on log_entries: which rows are stored
  alter table log_entries add constraint mine check (username is distinct from 'zoe')
default of operator_log.began_at: 30 days
  alter table operator_log alter began_at set default now() - interval '30 days'
function json_build_array: taken for one of the server
  create function json_build_array(text, int) returns json language sql as $$ select '[]'::json $$
operator =: taken for one of the server
  create function texteq_of(uuid, text) returns boolean language sql as $$ select true $$;
  create operator = (leftarg = uuid, rightarg = text, function = texteq_of)
setting search_path=elsewhere, public: the role xiq_reader
  alter role xiq_reader in database DATABASE set search_path = elsewhere, public
migration 0035_invitations: lacks it
  delete from kysely_migration where name = '0035_invitations'`;

/** Each attack, and what is named: of the last colon, as names have none behind it. */
const CASES = ATTACKS.trim()
  .split(/\n(?=\S)/)
  .map((text) => {
    const [, name = '', detail = '', attack = ''] = /^(.*): (.*)\n([^]*)$/m.exec(text) ?? [];
    return { name, detail, attack };
  });

const database = () => new URL(test.databaseUrl).pathname.slice(1);

/** Views, and what somebody makes of their definition. */
const FORGED: readonly (readonly [name: string, forge: (definition: string) => string])[] = [
  ['view audit_log', (text) => text.replace('AUDIT_LOG_ALL', 'NONE')],
  ['view events', (text) => text.replace("'audit'::text", "'other'::text")],
  ['view conservation', (text) => `select * from (${text.replace(/;$/, '')}) as one where true`],
  ['view coverage_by_day', (text) => text.replace("'whole'", "'healed'")],
];

it('is as this program made it, also with partitions of later months, and is left as it is', async () => {
  expect(await compareSchema(test.service)).toEqual([]);
  await maintainPartitions(test.service, new Date('2031-11-15T00:00:00Z'), {});
  expect(await compareSchema(test.service)).toEqual([]);
  expect(await test.query`select from pg_class where relname like 'made\\_anew\\_%'`).toEqual([]);
});

it('takes triggers as they were made for those that a dump brought back', async () => {
  await run(`do $$ declare made record; begin
    for made in select tgname, tgrelid::regclass as on_table, pg_get_triggerdef(oid) as printed, tgenabled = 'A' as is_always
      from pg_trigger where not tgisinternal and tgparentid = 0
    loop
      execute format('drop trigger %I on %s', made.tgname, made.on_table);
      execute made.printed;
      if made.is_always then
        execute format('alter table %s enable always trigger %I', made.on_table, made.tgname);
      end if;
    end loop;
  end $$`);
  expect(await compareSchema(test.db)).toEqual([]);
});

it('names each trigger, rule, right, setting and function that somebody changed', async () => {
  for (const { attack } of CASES) await run(attack.replace('DATABASE', database()));
  const found = await compareSchema(test.service);
  const isNamed = ({ name, detail }: (typeof CASES)[number]) =>
    found.some((one) => one.name === name && one.detail.includes(detail));
  expect(CASES.filter((one) => !isNamed(one))).toEqual([]);
});

it('names each view that shows something else', async () => {
  for (const [name, forge] of FORGED) {
    const [view] = await test.query<{ text: string }>`
      select pg_get_viewdef(${name.replace('view ', '')}::regclass) as text`;
    const forged = forge(view?.text ?? '');
    expect(forged).not.toBe(view?.text);
    await run(`create or replace ${name} as ${forged}`);
  }
  const found = await compareSchema(test.service);
  expect(found).toHaveLength(FORGED.length);
  for (const [name] of FORGED) expect(found).toContainEqual({ name, detail: 'its definition was changed' });
});
