import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { compareSchema } from '../../../../src/store/server/schema/compare-schema.ts';
import { maintainPartitions } from '../../../../src/store/partitions/partitions.ts';
import { useDatabase } from '../../../support/use-database.ts';

const test = useDatabase();

const run = (statement: string) => sql.raw(statement).execute(test.db);

/** What an attacker with the rights of the owner does, how to undo it, and what is named. */
const CASES: readonly (readonly [
  what: string,
  attack: string,
  undo: string,
  name: string,
  detail: string,
])[] = [
  [
    'a trigger that drops what arrives',
    `create function swallow() returns trigger language plpgsql as $$ begin return null; end $$;
      create trigger swallow before insert on audit_events for each row execute function swallow()`,
    'drop function swallow cascade',
    'trigger swallow on audit_events',
    'it calls swallow',
  ],
  [
    'a trigger that rewrites, with the name of a guard',
    `create function rewrite() returns trigger language plpgsql as $$ begin new.user_name := 'x'; return new; end $$;
      create trigger keep_sent_type before insert on audit_events for each row execute function rewrite()`,
    'drop function rewrite cascade',
    'trigger keep_sent_type on audit_events',
    'it calls rewrite',
  ],
  [
    'a guard that is switched off',
    'alter table quarantine disable trigger refuse_change',
    'alter table quarantine enable always trigger refuse_change',
    'trigger refuse_change on quarantine',
    'it is disabled',
  ],
  [
    'a guard of a partition that is gone',
    'drop trigger refuse_truncate on audit_events_default',
    `select guard_table('audit_events_default')`,
    'trigger refuse_truncate on audit_events_default',
    'it is gone',
  ],
  [
    'a guard that is gone',
    'drop trigger refuse_change on erasures',
    `create trigger refuse_change before update or delete on erasures for each row execute function refuse_change();
      select guard_table('erasures')`,
    'trigger refuse_change on erasures',
    'it is gone',
  ],
  [
    'a rule',
    'create rule quiet as on insert to gaps do instead nothing',
    'drop rule quiet on gaps',
    'rule quiet on gaps',
    'no rules',
  ],
  [
    'row security',
    'alter table operator_log enable row level security',
    'alter table operator_log disable row level security',
    'row security of operator_log',
    'hides rows',
  ],
  [
    'a function of the owner that belongs to another',
    'alter function create_month owner to postgres',
    'alter function create_month owner to xiq_owner',
    'function create_month',
    'it belongs to postgres',
  ],
  [
    'a function of the owner that looks elsewhere for names',
    'alter function create_month set search_path = elsewhere',
    'alter function create_month set search_path = public, pg_temp',
    'function create_month',
    'it sets search_path=elsewhere; timezone=utc while it runs',
  ],
  [
    'a function that lends rights it did not have',
    'alter function create_like security definer',
    'alter function create_like security invoker',
    'function create_like',
    'it lends the rights of its owner',
  ],
  [
    'a guard that never fires',
    `create or replace trigger refuse_change before update or delete on superseded_events for each row when (false) execute function refuse_change();
      alter table superseded_events enable always trigger refuse_change`,
    `create or replace trigger refuse_change before update or delete on superseded_events for each row execute function refuse_change();
      alter table superseded_events enable always trigger refuse_change`,
    'trigger refuse_change on superseded_events',
    'its definition was changed',
  ],
  [
    'a guard of months that lets rows be deleted',
    `create or replace trigger refuse_change before update on audit_events for each row execute function refuse_change();
      alter table audit_events enable always trigger refuse_change`,
    `create or replace trigger refuse_change before update or delete on audit_events for each row execute function refuse_change();
      alter table audit_events enable always trigger refuse_change`,
    'trigger refuse_change on audit_events',
    'its definition was changed',
  ],
  [
    'a trigger that queues some rows alone',
    `create or replace trigger queue_statement_insert after insert on gaps for each row when (false) execute function queue_statement('gap', 'id')`,
    `drop trigger queue_statement_insert on gaps;
      create trigger queue_statement_insert after insert on gaps referencing new table as changed for each statement execute function queue_statement('gap', 'id')`,
    'trigger queue_statement_insert on gaps',
    'its definition was changed',
  ],
  [
    'a month in another schema, where triggers are not compared',
    'create schema elsewhere; alter table other_events_default set schema elsewhere',
    'alter table elsewhere.other_events_default set schema public; drop schema elsewhere',
    'table elsewhere.other_events_default',
    'a part of other_events',
  ],
  [
    'a view in place of a table',
    'alter table log_kinds rename to hidden_kinds; create view log_kinds as table hidden_kinds',
    'drop view log_kinds; alter table hidden_kinds rename to log_kinds',
    'table log_kinds',
    'it is gone',
  ],
  [
    'an index that makes the events of a person duplicates',
    `create unique index mine on log_entries_default ((true)) where username = 'zoe'`,
    'drop index mine',
    'index mine',
    'which rows are duplicates',
  ],
  [
    'a check that refuses the events of a person',
    `alter table log_entries add constraint mine check (username is distinct from 'zoe')`,
    'alter table log_entries drop constraint mine',
    'check mine on log_entries',
    'which rows are stored',
  ],
  [
    'the time that entries of the operator log get',
    `alter table operator_log alter began_at set default now() - interval '30 days'`,
    'alter table operator_log alter began_at set default now()',
    'default of operator_log.began_at',
    '30 days',
  ],
  [
    'a function that fits the values better than the one of the server',
    `create function json_build_array(text, int) returns json language sql as $$ select '[]'::json $$`,
    'drop function public.json_build_array(text, int)',
    'function json_build_array',
    'taken for one of the server',
  ],
  [
    'an operator that fits the values better than the one of the server',
    'create function texteq_of(uuid, text) returns boolean language sql as $$ select true $$; create operator = (leftarg = uuid, rightarg = text, function = texteq_of)',
    'drop operator = (uuid, text); drop function texteq_of',
    'operator =',
    'taken for one of the server',
  ],
  [
    'the search path of the readers',
    'alter role xiq_reader in database DATABASE set search_path = elsewhere, public',
    'alter role xiq_reader in database DATABASE reset search_path',
    'setting search_path=elsewhere, public',
    'the role xiq_reader',
  ],
  [
    'a migration that is to be applied once more',
    `delete from kysely_migration where name = '0035_invitations'`,
    `insert into kysely_migration values ('0035_invitations', now()::text)`,
    'migration 0035_invitations',
    'lacks it',
  ],
];

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
  const [refuse] = await test.query<{ text: string }>`
    select pg_get_functiondef('refuse_change'::regproc) as text`;
  for (const [, attack] of CASES) await run(attack.replace('DATABASE', database()));
  await run(
    'create or replace function refuse_change() returns trigger language plpgsql as $$ begin return new; end $$',
  );
  const found = await compareSchema(test.service);
  for (const [, , undo] of CASES) await run(undo.replace('DATABASE', database()));
  await run(refuse?.text ?? '');
  const overlooked = CASES.filter(
    ([, , , name, detail]) => !found.some((one) => one.name === name && one.detail.includes(detail)),
  );
  expect(overlooked).toEqual([]);
  expect(found).toContainEqual(expect.objectContaining({ name: 'function refuse_change' }));
  expect(await compareSchema(test.service)).toEqual([]);
});

it('names each view that shows something else', async () => {
  const texts = new Map<string, string>();
  for (const [name, forge] of FORGED) {
    const [view] = await test.query<{ text: string }>`
      select pg_get_viewdef(${name.replace('view ', '')}::regclass) as text`;
    const text = view?.text ?? '';
    texts.set(name, text);
    const forged = forge(text);
    expect(forged).not.toBe(text);
    await run(`create or replace ${name} as ${forged}`);
  }
  const found = await compareSchema(test.service);
  for (const [name, text] of texts) await run(`create or replace ${name} as ${text}`);
  const detail = 'its definition was changed';
  expect(found).toHaveLength(FORGED.length);
  for (const [name] of FORGED) expect(found).toContainEqual({ name, detail });
  expect(await compareSchema(test.service)).toEqual([]);
});
