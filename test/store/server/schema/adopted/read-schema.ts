import { sql } from 'kysely';
import type { Db } from '../../../../../src/store/server/database.ts';

/**
 * Everything that makes up the tables, views and functions, one line each. In any order: columns that were added later are
 * the last. Of partitions, which maintenance creates, only the default ones, and neither comments nor the names of indexes: a
 * table of before became one with its own. Spaces and quotes in functions do not count.
 */
export async function readSchema(db: Db): Promise<readonly string[]> {
  const { rows } = await sql<{ line: string }>`
    with relations as (
      select pg_class.*, format('%s %s', relkind, relname) as title, relispartition as is_part from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'S')
        and (not relispartition or relname like '%\\_default')
    )
    select format('%s owner %s options %s partitions by %s', title, relowner::regrole, reloptions, pg_get_partkeydef(oid)) as line
      from relations
    union all
    select format('%s grants %s to %s', title, privilege_type, case grantee when 0 then 'public' else grantee::regrole::text end)
      from relations, aclexplode(coalesce(relacl, acldefault(
        case relkind when 'S' then 's'::"char" else 'r'::"char" end, relowner)))
      -- The service gets its rights after each migration.
      where grantee <> 'xiq_sink'::regrole and privilege_type <> 'MAINTAIN'
    union all
    select format('%s column %s %s collate %s not null %s default %s generated %s%s storage %s grants %s comment %s', title,
        attname, format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull,
        pg_get_expr(adbin, adrelid), attgenerated, attidentity, attstorage,
        (select string_agg(privilege_type || ' to ' || grantee::regrole, ' ' order by 1)
          from aclexplode(attacl) where grantee <> 'xiq_sink'::regrole),
        case when not is_part then col_description(attrelid, attnum) end)
      from relations join pg_attribute on attrelid = relations.oid
      left join pg_attrdef on adrelid = attrelid and adnum = attnum
      where attnum > 0 and not attisdropped and relkind <> 'S'
    union all
    select format('%s comment %s', title, obj_description(oid, 'pg_class')) from relations where not is_part
    union all
    select format('%s constraint %s %s', title, conname, pg_get_constraintdef(pg_constraint.oid))
      -- Not null constraints have names since Postgres 18: see the columns.
      from relations join pg_constraint on conrelid = relations.oid where contype <> 'n'
    union all
    select format('%s index %s', title, case when is_part then regexp_replace(
        pg_get_indexdef(indexrelid), 'INDEX \\w+ ON', 'INDEX ON') else pg_get_indexdef(indexrelid) end)
      from relations join pg_index on indrelid = relations.oid
    union all
    select format('%s trigger %s enabled %s', title, pg_get_triggerdef(pg_trigger.oid), tgenabled)
      from relations join pg_trigger on tgrelid = relations.oid where not tgisinternal or tgparentid <> 0
    union all
    select format('%s view %s', title, pg_get_viewdef(oid)) from relations where relkind = 'v'
    union all
    select format('%s sequence %s', title, pg_sequence) from relations join pg_sequence on seqrelid = relations.oid
      where relname = 'events_id_seq'
    union all
    select format('function %s owner %s comment %s %s', proc.oid::regprocedure, proowner::regrole,
        obj_description(proc.oid, 'pg_proc'), regexp_replace(replace(pg_get_functiondef(proc.oid), '"', ''), '\\s+', ' ', 'g'))
      from pg_proc as proc where pronamespace = 'public'::regnamespace
    union all
    select format('function %s grants %s to %s', proc.oid::regprocedure, privilege_type,
        case grantee when 0 then 'public' else grantee::regrole::text end)
      from pg_proc as proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))
      where pronamespace = 'public'::regnamespace and grantee <> 'xiq_sink'::regrole
    union all
    select format('type %s', typname) from pg_type
      where typnamespace = 'public'::regnamespace and typtype in ('d', 'e')
    union all
    select format('policy %s', polname) from pg_policy
    order by 1`.execute(db);
  // The oid of a sequence is its own.
  return rows.map(({ line }) => line.replace(/sequence \(\d+,/, 'sequence ('));
}
