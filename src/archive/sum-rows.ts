import { WEIGHT } from '../store/archive/archive-schema.ts';
import type { ArchivedColumn } from '../store/archive/archive-tables.ts';
import type { ReadableFile } from '../store/archive/archived-files.ts';
import { identifier, literal } from './engine.ts';
import { filesAsTable, nullAs, printed } from './file-format.ts';
import type { Translated } from './translate-condition.ts';
import type { WeighedStatement } from './weigh-statement.ts';

/** What a weighed statement needs of the rows of a table. */
interface SummedRows {
  /** Of the table. */
  readonly all: readonly ArchivedColumn[];
  /** Those that it reads. */
  readonly columns: readonly ArchivedColumn[];
  /** Those that it reads of the rows that meet the condition. */
  readonly kept: ReadonlySet<string>;
  readonly meets: Translated;
  readonly weighed: WeighedStatement;
}

const TIME = 'occurred_at';

/**
 * What DuckDB selects of files for a weighed statement. Rows that meet the condition for certain, and that the statement cannot tell
 * apart, are one row of theirs, with their number; and one more, of no weight, if their last time is read beside the first.
 * Rows that meet it perhaps come one by one, for Postgres to decide.
 */
export function summedRows(files: readonly ReadableFile[], summed: SummedRows): string {
  const alike = Map.groupBy(files, (file) =>
    isFixed(file, summed)
      ? JSON.stringify([
          file.source,
          file.messageType,
          boundariesOf(summed).filter((time) => time < +file.firstAt),
        ])
      : '',
  );
  const selects = [...alike].flatMap(([key, some]) => {
    const paths = some.map((file) => file.path);
    const rows = filesAsTable(paths, summed.all, key === '' ? {} : constantsOf(some));
    const groups = groupsOf(rows, summed, key === '' ? undefined : timesOf(some));
    return summed.meets.undecided === 'false' ? [groups] : [groups, undecidedOf(rows, summed)];
  });
  return `select ${[...printed(summed.columns), WEIGHT].join(', ')} from (${selects.join(' union all ')})`;
}

function undecidedOf(rows: string, { columns, meets: { may, undecided } }: SummedRows): string {
  const values = columns.map(({ name }) => (name === TIME ? `own_time as ${TIME}` : identifier(name)));
  return `select ${[...values, `1 as ${WEIGHT}`].join(', ')} from ${rows} where (${may}) and (${undecided})`;
}

/** Groups the rows that meet the condition for certain. `times` has the times of groups, by their files. */
function groupsOf(rows: string, summed: SummedRows, times?: string): string {
  const { columns, kept, meets, weighed } = summed;
  const isOfFile = ({ name }: ArchivedColumn) => name === TIME && kept.has(name) && times !== undefined;
  const isNamed = ({ name, type }: ArchivedColumn) =>
    // 0 and -0 are equal, and have other texts.
    kept.has(name) && type !== 'double precision' && (name !== TIME || weighed.grain === 1);
  const named = columns.filter(isNamed).map(({ name }) => identifier(name));
  const others = columns
    .filter((column) => kept.has(column.name) && !isNamed(column) && !isOfFile(column))
    .map(({ name }) => (name === TIME ? timeGroup(weighed.grain) : `${identifier(name)}::varchar`));
  if (columns.some(isOfFile)) named.push('file_index');
  // Without groups there is a row even if there is none.
  const groups = [...named, ...others];
  const by = groups.length === 0 ? 'having count(*) > 0' : `group by ${groups.join(', ')}`;
  // The condition is true whatever the other columns are, of which ids take more space than all the rest.
  const isPicked = ({ name }: ArchivedColumn) => kept.has(name) || meets.must.includes(identifier(name));
  const values = columns.map((column) => {
    const name = identifier(column.name);
    if (isNamed(column)) return name;
    if (isOfFile(column)) return `${times}[file_index::BIGINT + 1] as ${name}`;
    return isPicked(column) ? `found.row.${name} as ${name}` : nullAs(column);
  });
  const picked = columns.filter((column) => !isNamed(column) && !isOfFile(column) && isPicked(column));
  const found = foundOf(picked, summed);
  return `select ${[...values, `found.weight as ${WEIGHT}`].join(', ')} from (
    select ${[...named, `${found} as found`].join(', ')} from ${rows} where ${meets.must} ${by})`;
}

/** What is known of a group beside its values: these columns of one row of it, or two. */
function foundOf(columns: readonly ArchivedColumn[], summed: SummedRows): string {
  const row = `{${columns.map(({ name }) => `${literal(name)}: ${identifier(name)}`).join(', ')}}`;
  if (!needsEnds(summed))
    return `{row: ${columns.length === 0 ? 'null' : `first(${row})`}, weight: count(*)}`;
  const last = `case when count(*) > 1 then [{row: arg_max(${row}, ${TIME}), weight: 0}] else [] end`;
  return `unnest([{row: arg_min(${row}, ${TIME}), weight: count(*)}] || ${last})`;
}

const needsEnds = ({ kept, weighed }: SummedRows) => weighed.readsEnds && kept.has(TIME) && weighed.grain > 1;

/**
 * Whether the time of each row of a file can be taken for that of its first: the statement cannot tell them apart, and neither can
 * the condition. Then the times, which are half of the work, are not read, and neither are source and type.
 */
function isFixed({ firstAt, lastAt }: ReadableFile, summed: SummedRows): boolean {
  const { kept, weighed } = summed;
  const [first, last] = [firstAt.getTime(), lastAt.getTime()];
  const groupOf = (time: number) => Math.floor((time * 1000) / weighed.grain);
  const isOneGroup = !kept.has(TIME) || (weighed.grain > 1 && groupOf(first) === groupOf(last));
  const isBetween = boundariesOf(summed).every((time) => time < first || time > last + 1);
  return !needsEnds(summed) && first > FIRST_WHOLE_ZONES && isOneGroup && isBetween;
}

/** The times that a condition compares with, in milliseconds; NaN for one that a Date has not. */
const boundariesOf = ({ meets: { may, must } }: SummedRows) =>
  Array.from(`${may} ${must}`.matchAll(/'([^']*)'::TIMESTAMPTZ/g), ([, time = '']) => Date.parse(time));

const constantsOf = ([file]: readonly ReadableFile[]): Readonly<Record<string, string>> =>
  file === undefined
    ? {}
    : {
        [TIME]: timestamp(file.firstAt),
        source: literal(file.source),
        message_type: literal(file.messageType),
      };

const timesOf = (files: readonly ReadableFile[]) =>
  `[${files.map(({ firstAt }) => timestamp(firstAt)).join(', ')}]`;

const timestamp = (time: Date) => `${literal(time.toISOString())}::TIMESTAMPTZ`;

/** Before, there were zones that differed from UTC by other times than whole quarters of an hour. */
const FIRST_WHOLE_ZONES = Date.UTC(1980);

/** Times before are not grouped, and have numbers that no group has. */
const timeGroup = (grain: number) =>
  `case when ${TIME} < ${timestamp(new Date(FIRST_WHOLE_ZONES))} then epoch_us(${TIME}) - 1000000000000000000 else epoch_us(${TIME}) // ${grain} end`;
