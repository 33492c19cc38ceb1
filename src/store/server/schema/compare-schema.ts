import { CompiledQuery } from 'kysely';
import type { Db } from '../database.ts';
import { allRows, onlyRow } from '../statement.ts';
import { findForeignParts, MONTHLY, type SchemaDifference } from './compare-tables.ts';
import { readMigrationState } from './migrate.ts';
import { readScripts } from './migrations.ts';

interface CreatedFunction {
  readonly body: string;
  /** It runs with the privileges of its owner, whoever calls it. */
  readonly isDefiner: boolean;
  /** What it sets while it runs, as Postgres prints it. */
  readonly settings: readonly string[];
}

interface Created {
  readonly functions: ReadonlyMap<string, CreatedFunction>;
  /** The function that each trigger calls, by the name of the trigger. */
  readonly triggers: ReadonlyMap<string, ReadonlySet<string>>;
  /** The triggers that a table must have, by its name. */
  readonly required: ReadonlyMap<string, ReadonlySet<string>>;
}

const FUNCTION =
  /create (?:or replace )?function (?<name>\w+)\s*\((?<head>[^;]*?)\bas \$\$(?<body>[^]*?)\$\$/g;

// oxlint-disable-next-line regexp/no-super-linear-backtracking -- the migrations' own text
const SETTING = /\bset (?<name>\w+) = (?<value>.*?)(?= set |\s*$)/g;

const TRIGGER =
  /create (?:or replace )?trigger (?<name>\w+) (?<when>(?:before|after) [^;']*? on) (?<table>\w+|%I|%s)\b(?<does>[^;']*?execute function (?:public\.)?(?<calls>\w+)\([^)]*\))/g;

const GUARDED = /select guard_table\('(?<table>\w+)'\)/g;

/** Triggers of all of them, and of each of their partitions. */
const OF_MONTHLY = ['refuse_change', 'refuse_truncate', 'store_in_order'];

const added = (sets: Map<string, Set<string>>, key: string, value: string) =>
  sets.set(key, (sets.get(key) ?? new Set()).add(value));

/** Reads from the migrations what they create, so that nobody keeps a second list of it. */
async function readCreated(): Promise<Created> {
  const functions = new Map<string, CreatedFunction>();
  const triggers = new Map<string, Set<string>>();
  const required = new Map(MONTHLY.map((table) => [table, new Set(OF_MONTHLY)]));
  for (const script of await readScripts()) {
    for (const { groups = {} } of script.matchAll(FUNCTION)) {
      const { name = '', head = '', body = '' } = groups;
      const settings = Array.from(head.matchAll(SETTING), ([, key = '', value = '']) =>
        `${key}=${value.replaceAll("'", '')}`.toLowerCase(),
      );
      functions.set(name, { body, isDefiner: /\bsecurity definer\b/.test(head), settings });
    }
    for (const { groups = {} } of script.matchAll(TRIGGER)) {
      const { name = '', table = '', calls = '' } = groups;
      added(triggers, name, calls);
      if (!table.startsWith('%')) added(required, table, name);
    }
    for (const { groups = {} } of script.matchAll(GUARDED)) {
      added(required, groups['table'] ?? '', 'refuse_truncate');
    }
  }
  return { functions, triggers, required };
}

/**
 * Compares views, triggers, functions, rules, row security, the settings of roles, the list of migrations, and what decides
 * about rows of tables, with what this program makes. Whoever may change them decides what is stored and what others read,
 * and changes no row for it. A standby lets nobody make the views and triggers that it takes to compare them: there, they are
 * left out.
 */
export async function compareSchema(db: Db): Promise<readonly SchemaDifference[]> {
  const created = await readCreated();
  return [
    ...(await findParsed(db)),
    ...(await findForeignParts(db)),
    ...(await findFunctions(db, created)),
    ...(await findTriggers(db, created)),
    ...(await findRules(db)),
    ...(await findSettings(db)),
    ...(await findUnlisted(db)),
  ];
}

const VIEW = /^create (?:or replace )?view (?=\w+ as\s)[^;]+;/gm;
/** Postgres keeps such a function as it understood it, and not its text. */
const PARSED_FUNCTION = /^create (?:or replace )?function \w+\((?:(?!^create )[^])*?begin atomic[^]*?^end;/gm;
const VIEWS_IN_BLOCK = /^do \$\$(?:(?!^end \$\$;)[^])*'create view %I as[^]*?^end \$\$;/gm;

/** What triggers of partitions stand on, which a function makes for each. */
const EACH = 'each_partition';

/** Recreates the triggers of a script on empty copies of their tables. */
const triggersAnew = (script: string) =>
  Array.from(script.matchAll(TRIGGER), ({ groups = {} }) => {
    const { name = '', when = '', table = '', does = '' } = groups;
    const [copy, original] = table.startsWith('%') ? [EACH, 'deliveries'] : [table, table];
    return [
      ...['anew', 'again'].map(
        (made) => `create temp table if not exists made_${made}_${copy} (like public.${original})`,
      ),
      `create or replace trigger ${name} ${when} pg_temp.made_anew_${copy} ${does}`,
    ];
  }).flat();

/**
 * Makes the triggers once more from how the server prints them, as the restore of a dump does: of conditions that are joined by
 * `or`, it then prints fewer parentheses.
 */
async function makeTriggersAgain(trx: Db): Promise<void> {
  const printed = await allRows<{ statement: string }>(trx)`
    select replace(pg_get_triggerdef(pg_trigger.oid), 'made_anew_', 'made_again_') as statement
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where relnamespace = pg_my_temp_schema() and not tgisinternal`;
  for (const { statement } of printed) await trx.executeQuery(CompiledQuery.raw(statement));
}

/**
 * Recreates each view and trigger of the migrations, and each function that is stored parsed, under another name and for this
 * transaction only, and compares how the server prints it, because the output depends on the server's version.
 */
async function findParsed(db: Db): Promise<readonly SchemaDifference[]> {
  const { standby } = await onlyRow<{ standby: boolean }>(db)`select pg_is_in_recovery() as standby`;
  if (standby) return [];
  const statements = (await readScripts()).flatMap((script) => [
    ...(script.match(VIEW) ?? []).map((one) =>
      one.replace(/^create (?:or replace )?view /, 'create or replace temp view made_anew_'),
    ),
    ...(script.match(VIEWS_IN_BLOCK) ?? []).map((one) =>
      one.replace("'create view %I as", "'create or replace temp view made_anew_%s as"),
    ),
    ...(script.match(PARSED_FUNCTION) ?? []).map((one) =>
      one.replace(/^create (?:or replace )?function /, 'create or replace function pg_temp.made_anew_'),
    ),
    ...triggersAnew(script),
  ]);
  // It must leave nothing behind.
  const trx = await db.startTransaction().execute();
  try {
    for (const statement of statements) await trx.executeQuery(CompiledQuery.raw(statement));
    await makeTriggersAgain(trx);
    return await allRows<SchemaDifference>(trx)`
      with relations as (
        select 'view' as kind, relname as name, relnamespace as schema, pg_get_viewdef(oid) as text from pg_class
          where relkind = 'v' and relnamespace in ('public'::regnamespace, pg_my_temp_schema())
        union all
        select 'function', proname, pronamespace, pg_get_function_sqlbody(oid) from pg_proc where prosqlbody is not null
      ), triggers as (
        select tgname as name, relname as table, relnamespace as schema,
          coalesce('made_anew_' || inhparent::regclass, case relnamespace when 'public'::regnamespace then 'made_anew_' else '' end
            || replace(relname, 'made_again_', 'made_anew_')) as root,
          regexp_replace(pg_get_triggerdef(pg_trigger.oid), ' ON \\S+ ', ' ') as text
        from pg_trigger join pg_class on pg_class.oid = tgrelid left join pg_inherits on inhrelid = tgrelid
        where not tgisinternal or tgparentid <> 0
      )
      select format('%s %s', kind, present.name) as name, 'its definition was changed' as detail
      from relations as made join relations as present using (kind)
      where made.schema = pg_my_temp_schema() and present.schema = 'public'::regnamespace
        and made.name = 'made_anew_' || present.name and replace(made.text, 'made_anew_', '') <> present.text
      union all
      select format('%s %s', kind, right(made.name, -length('made_anew_'))), 'it is gone'
      from relations as made
      where schema = pg_my_temp_schema() and made.name like 'made\\_anew\\_%' and not exists (
        select from relations as present
        where present.kind = made.kind and schema = 'public'::regnamespace and made.name = 'made_anew_' || present.name)
      union all
      select format('trigger %s on %s', name, "table"), 'its definition was changed'
      from triggers as present, lateral (
        select array_agg(text) as texts from triggers as made
        where schema = pg_my_temp_schema() and made.name = present.name
          and root in (present.root, ${`made_anew_${EACH}`}) group by root = present.root order by root = present.root desc limit 1) as made
      where schema = 'public'::regnamespace and text <> all (texts)
      order by 1`;
  } finally {
    await trx.rollback().execute();
  }
}

/** An adopted database has the same functions with other line breaks, comments and quoted names. */
const meaningOf = (body: string) =>
  body
    .replaceAll(/--.*|"/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

interface FoundFunction extends CreatedFunction {
  readonly name: string;
  /** The owner, if that is not who owns the tables. */
  readonly stranger: string | null;
}

function* differencesOf(
  { name, body, isDefiner, settings, stranger }: FoundFunction,
  made: CreatedFunction | undefined,
): Generator<SchemaDifference> {
  const difference = (detail: string) => ({ name: `function ${name}`, detail });
  if (made !== undefined && meaningOf(made.body) !== meaningOf(body))
    yield difference('its definition was changed');
  if (isDefiner && made?.isDefiner !== true) yield difference('it runs with the privileges of its owner');
  if (made === undefined) return;
  if (made.isDefiner && !isDefiner) yield difference('it no longer runs with the privileges of its owner');
  if (made.isDefiner && stranger !== null) yield difference(`it belongs to ${stranger}`);
  if (settings.toSorted().join() !== made.settings.toSorted().join())
    yield difference(`it sets ${settings.join('; ') || 'nothing'} while it runs`);
}

async function findFunctions(db: Db, { functions }: Created): Promise<readonly SchemaDifference[]> {
  const found = await allRows<FoundFunction>(db)`
    select proname as name, prosrc as body, prosecdef as "isDefiner",
      array(select lower(replace(one, '"', '')) from unnest(proconfig) as one) as settings,
      case when proowner <> relowner then proowner::regrole::text end as stranger
    from pg_proc, pg_class
    where pronamespace = 'public'::regnamespace and pg_class.oid = 'public.deliveries'::regclass
    order by proname`;
  const names = new Set(found.map(({ name }) => name));
  const missing = [...functions.keys()].filter((name) => !names.has(name));
  return [
    ...missing.map((name) => ({ name: `function ${name}`, detail: 'it is gone' })),
    ...found.flatMap((one) => [...differencesOf(one, functions.get(one.name))]),
  ];
}

interface FoundTrigger {
  readonly table: string;
  /** The partitioned table, or the table itself. */
  readonly root: string;
  /** Null: the table has none. */
  readonly trigger: string | null;
  readonly calls: string | null;
  readonly enabled: string | null;
}

/** Guards work also for whoever switches off the others; a trigger that queues does in the usual way. */
const isOff = ({ trigger, enabled }: FoundTrigger) =>
  enabled !== 'A' && !(enabled === 'O' && trigger?.startsWith('queue_statement') === true);

/** Postgres 14 calls a trigger internal if a partition has it from its table. */
async function findTriggers(db: Db, { triggers, required }: Created): Promise<readonly SchemaDifference[]> {
  const found = await allRows<FoundTrigger>(db)`
    select pg_class.relname as table, coalesce(parent.relname, pg_class.relname) as root, tgname as trigger,
      proname as calls, tgenabled as enabled
    from pg_class left join pg_inherits on inhrelid = pg_class.oid left join pg_class as parent on parent.oid = inhparent
      left join pg_trigger on tgrelid = pg_class.oid and (not tgisinternal or tgparentid <> 0)
      left join pg_proc on pg_proc.oid = tgfoid
    where pg_class.relnamespace = 'public'::regnamespace and pg_class.relkind in ('r', 'p')
      and not coalesce(pg_class.relname like '%\\_detached', false)
    order by 1, 3`;
  const differences: SchemaDifference[] = [];
  const ofTable = new Map<string, Set<string>>();
  for (const one of found) {
    const { table, trigger, calls } = one;
    if (trigger === null) continue;
    const name = `trigger ${trigger} on ${table}`;
    if (triggers.get(trigger)?.has(calls ?? '') !== true) {
      differences.push({ name, detail: `this program did not create it; it calls ${calls}` });
    } else if (isOff(one)) differences.push({ name, detail: 'it is disabled' });
    added(ofTable, table, trigger);
  }
  for (const [table, root] of new Map(found.map((one) => [one.table, one.root]))) {
    for (const name of required.get(root) ?? []) {
      if (ofTable.get(table)?.has(name) === true) continue;
      differences.push({ name: `trigger ${name} on ${table}`, detail: 'it is gone' });
    }
  }
  return differences;
}

async function findRules(db: Db): Promise<readonly SchemaDifference[]> {
  return allRows<SchemaDifference>(db)`
    select format('rule %s on %s', rulename, tablename) as name, 'this program makes no rules' as detail
    from pg_rules where schemaname = 'public'
    union all
    select format('policy %s on %s', policyname, tablename), 'this program makes no policies'
    from pg_policies where schemaname = 'public'
    union all
    select format('row security of %s', relname), 'it hides rows from those who read'
    from pg_class where relnamespace = 'public'::regnamespace and relrowsecurity
    order by 1`;
}

/** Settings that decide which objects a name means, and which rows and triggers count. */
const DECIDING = ['search_path', 'row_security', 'session_replication_role'];

async function findSettings(db: Db): Promise<readonly SchemaDifference[]> {
  return allRows<SchemaDifference>(db)`
    select format('setting %s', setting) as name,
      format('it holds for %s', coalesce('the role ' || rolname, 'every role of the database')) as detail
    from pg_db_role_setting left join pg_roles on pg_roles.oid = setrole, unnest(setconfig) as setting
    where setdatabase in (0, (select oid from pg_database where datname = current_database()))
      and lower(split_part(setting, '=', 1)) = any(${DECIDING}::text[])
      and (setrole = 0 or pg_has_role(session_user, setrole, 'member') or rolname = 'xiq_reader')
    order by 1`;
}

/** The next start would apply what the list lacks once more. */
const findUnlisted = async (db: Db): Promise<readonly SchemaDifference[]> =>
  (await readMigrationState(db)).pending.map((name) => ({
    name: `migration ${name}`,
    detail: 'the list of applied migrations lacks it',
  }));
