import { FAMILIES } from '../../../events/domain.ts';
import { TABLE_OF } from '../../../events/message-types.ts';
import type { Db } from '../database.ts';
import { allRows } from '../statement.ts';
import { readScripts } from './migrations.ts';

/** Something of the schema that this program has not made, or that is not as it made it. */
export interface SchemaDifference {
  /** What it is: `trigger drop_some on audit_events`. */
  readonly name: string;
  readonly detail: string;
}

/** The tables that are partitioned by month. */
export const MONTHLY = ['deliveries', ...FAMILIES.map((family) => TABLE_OF[family])];

const TABLES = /\b(create|drop) table (?:if (?:not )?exists )?(\w+)/g;

/** The tables that the migrations make in SQL. */
async function readTables(): Promise<readonly string[]> {
  const tables = new Set<string>();
  for (const script of await readScripts()) {
    for (const [, how, name = ''] of script.matchAll(TABLES))
      if (how === 'create') tables.add(name);
      else tables.delete(name);
  }
  return [...tables];
}

/**
 * Finds what decides about the rows of a table without a trigger: another table or a view in its place, partitions that are
 * elsewhere, where nothing else is compared, indexes by which rows become duplicates, checks that refuse rows, and default
 * values. Functions and operators that have the name of one of the server's may be taken for it in any statement.
 */
export async function findForeignParts(db: Db): Promise<readonly SchemaDifference[]> {
  const tables = await readTables();
  return allRows<SchemaDifference>(db)`
    with own as (
      select oid, relname = any(${MONTHLY}::text[]) as is_monthly from pg_class
        where relnamespace = 'public'::regnamespace and relname = any(${tables}::text[])
      union all
      select inhrelid, true from pg_inherits where inhparent::regclass::text = any(${MONTHLY}::text[])
    )
    select format('table %s', name) as name, 'it is gone' as detail from unnest(${tables}::text[]) as name
    where not exists (
      select from pg_class where relname = name and relnamespace = 'public'::regnamespace and relkind in ('r', 'p'))
    union all
    select format('table %s', inhrelid::regclass), format('this program did not make it a part of %s', inhparent::regclass)
    from pg_inherits join own on own.oid = inhparent join pg_class on pg_class.oid = inhrelid
    where relnamespace <> 'public'::regnamespace or relkind not in ('r', 'p') or not is_monthly
    union all
    select format('table %s', oid::regclass), 'it is unlogged: a crash of the server empties it'
    from pg_class join own using (oid) where relpersistence = 'u'
    union all
    select format('index %s', indexrelid::regclass), 'it decides which rows are duplicates'
    from pg_index join own on own.oid = indrelid
    where is_monthly and (indisunique or indisexclusion)
      and pg_get_indexdef(indexrelid) !~ ' USING btree \\((occurred_at, event_id|delivery_id)\\)$'
    union all
    select format('check %s on %s', conname, conrelid::regclass), 'it decides which rows are stored'
    from pg_constraint join own on own.oid = conrelid
    where is_monthly and contype = 'c' and pg_get_constraintdef(pg_constraint.oid) !~ '^CHECK \\(false\\)' and not (
      conname in ('wait_for_partition', 'in_month') and (
        select bool_and(attname in ('occurred_at', 'received_at')) from pg_attribute
        where attrelid = conrelid and attnum = any(conkey)))
    union all
    select format('default of %s.%s', adrelid::regclass, attname), format('it is %s', value)
    from pg_attrdef join own on own.oid = adrelid join pg_attribute on attrelid = adrelid and attnum = adnum, lateral (
      select pg_get_expr(adbin, adrelid) as value) as printed
    where attgenerated = '' and case when atttypid = 'timestamptz'::regtype then value not in ('now()', '''-infinity''::timestamp with time zone')
      else value !~ '^(\\d+|true|false|''[^'']*''::\\w+|nextval\\(''\\w+''::regclass\\)|gen_random_uuid\\(\\)|pg_current_xact_id\\(\\))$' end
    union all
    select format('%s %s', kind, name), 'it can be taken for one of the server'
    from (
      select 'function' as kind, oid, proname as name from pg_proc
        where pronamespace = 'public'::regnamespace and proname in (
          select proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace)
      union all
      select 'operator', oid, oprname from pg_operator where oprnamespace = 'public'::regnamespace
    ) as found
    where not exists (select from pg_depend where objid = found.oid and deptype = 'e')
    order by 1`;
}
