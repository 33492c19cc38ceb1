import { sql, type Kysely } from 'kysely';
import { classOf, LOWER, MOST_MARKS } from '../src/lib/text/fold.ts';
import { INVISIBLE, MARKS, UNKNOWN } from '../src/lib/text/folding-lists.ts';
import { buildIfEmpty } from '../src/store/server/schema/build-indexes.ts';

/** A program without it counts people by names in lower case, and an erasure would not find what it has counted. */
export const olderProgramsMayRun = false;

/** A code point as strings with the prefix E have it, whatever the session makes of backslashes. */
const character = (hex: string) =>
  hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;

const [invisible, unknown, marks] = [INVISIBLE, UNKNOWN, MARKS].map((list) => classOf(list, character));

const characters = (texts: readonly string[]) =>
  texts.map((text) => character((text.codePointAt(0) ?? 0).toString(16))).join('');

/** `translate` looks for each character of a text in all of its list: only lists of scripts that it has are used. */
const LETTERS = Map.groupBy(
  LOWER.entries().filter(([letter]) => letter > '\x7f'),
  ([letter]) => ['\u0345', '\u0400', '\u0530'].findIndex((end) => letter < end),
);

const toLower = [...LETTERS.values()].map((letters) => {
  const [upper, lower] = [characters(letters.map(([one]) => one)), characters(letters.map(([, one]) => one))];
  return `
  if known ~ (E'[${upper}]' collate "C") then
    known := translate(known, E'${upper}', E'${lower}');
  end if;`;
});

/** It names the schema of what it calls: ANALYZE, CREATE INDEX and a restored dump call it and search none. */
export const FOLD_UNICODE = `create or replace function fold_unicode(name text) returns text language plpgsql immutable strict parallel safe as $$
declare
  invisible constant text := E'${invisible}';
  unknown constant text := E'${unknown}';
begin
  if name !~ ('[' || invisible || unknown || ']' collate "C") then
    return public.fold_known(name);
  end if;
  return (
    select coalesce(string_agg(case when run[1] ~ ('[' || unknown || ']' collate "C") then run[1] else public.fold_known(run[1]) end,
      '' order by number), '')
    from regexp_matches(regexp_replace(name, '[' || invisible || ']+' collate "C", '', 'g'),
      '[' || unknown || ']+|[^' || unknown || ']+' collate "C", 'g') with ordinality as one (run, number));
end $$`;

/*
 * The twin of `fold` in src/lib/text/fold.ts. A name of plain ASCII costs what lower() does: the planner writes the functions
 * out that are kept parsed. An index entry must be short.
 */
export const statements = [
  `create function fold_known(known text) returns text language plpgsql immutable strict parallel safe as $$
declare
  marks constant text := E'[${marks}]';
begin
  if length(known) > ${MOST_MARKS} then
    known := regexp_replace(known, '(' || marks || '{${MOST_MARKS}})' || marks || '+' collate "C", E'\\\\1', 'g');
  end if;
  known := lower(normalize(known, NFKD) collate "C");${toLower.join('')}
  return normalize(replace(replace(known, E'\\u00df', 'ss'), E'i\\u0307', 'i'), NFKC);
end $$`,
  FOLD_UNICODE,
  `create function fold(name text) returns text language sql immutable parallel safe begin atomic
  select case when octet_length(name) <> length(name) then fold_unicode(name) else lower(name collate "C") end;
end;`,
  `create function fold_name(name text) returns text language sql immutable parallel safe begin atomic
  select left(fold(name), 512);
end;`,
  `create or replace function names_at(
  of_source text, of_ap macaddr, of_locations bigint[], of_user text, at timestamptz,
  out ap_name text, out place text, out person_name text, out person_role text
) returns setof record language sql stable parallel safe begin atomic
  select device.host_name, coalesce(location_of_device.place, deepest.place), person.name, person.role
  from (values (1)) as one
  left join lateral (
    select host_name, location_id from devices
    where source = of_source and mac = of_ap and valid_from <= at and (valid_to is null or valid_to > at) order by valid_from desc, id desc limit 1
  ) as device on true
  left join lateral (
    select locations.place from locations
    where source = of_source and location_id = device.location_id and valid_from <= at and (valid_to is null or valid_to > at) limit 1
  ) as location_of_device on true
  left join lateral (
    with known as (
      select location_id, parent_id, locations.place from locations
      where source = of_source and location_id = any(of_locations) and valid_from <= at and (valid_to is null or valid_to > at)
    )
    select known.place from known
    where not exists (select from known as child where child.parent_id = known.location_id) limit 1
  ) as deepest on true
  left join lateral (
    select name, role from people
    where source = of_source and fold_name(user_name) = fold_name(of_user) and valid_from <= at and (valid_to is null or valid_to > at) order by valid_from desc, id desc limit 1
  ) as person on true;
end;`,
];

export const indexes = [
  {
    table: 'audit_events',
    suffix: 'user_name_folded',
    definition: 'btree (fold_name(user_name) text_pattern_ops, occurred_at)',
    replaces: 'user_name_prefix',
  },
  {
    table: 'log_entries',
    suffix: 'username_folded',
    definition: 'btree (fold_name(username) text_pattern_ops, occurred_at)',
    replaces: 'username_prefix',
  },
];

/**
 * Directories with names that are compared otherwise now are counted anew, the latest events first, and so are large ones: to
 * write their labels would take long, and nobody could count or read them meanwhile.
 */
const CHANGES = [
  'drop index people_user_name',
  'create index people_user_name on people (source, fold_name(user_name), valid_from)',
  `do $$
begin
  if exists (select from seen where octet_length(key) <> length(key)) or exists (select from seen offset 100000) then
    truncate seen, seen_days;
    update seen_progress set first_position = log_state.next_position, next_position = log_state.next_position from log_state;
  end if;
end $$`,
  `alter table seen drop column label,
    add column label text collate "C" not null generated always as (fold_name(coalesce(name, key))) stored`,
  `comment on column seen.label is 'What directories are sorted by'`,
  `comment on column seen.key is 'Name as fold_name() compares it, or MAC address'`,
  'create index seen_label on seen (kind, source, label, key)',
  `comment on function fold(text) is 'A text as it is compared: without the differences of case and of compatible characters'`,
  `comment on function fold_name(text) is 'The name of a person as it is compared, searched and counted'`,
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of [...statements, ...CHANGES]) await sql.raw(statement).execute(db);
  for (const index of indexes) await buildIfEmpty(db, index);
}
