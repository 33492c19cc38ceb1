import { WEIGHT } from '../store/archive/archive-schema.ts';
import type { ArchivedColumn } from '../store/archive/archive-tables.ts';
import type { ReadableFile } from '../store/archive/archived-files.ts';
import type { Constants, KnownFile } from './constant-columns.ts';
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
export function summedRows(files: readonly KnownFile[], summed: SummedRows): string {
  const alike = Map.groupBy(files, (file) => {
    const passed = boundariesOf(summed).filter((time) => time < +file.firstAt);
    return JSON.stringify({ ...constantsOf(file, summed), [TIME]: isFixed(file, summed) && passed });
  });
  const selects = [...alike.values()].flatMap((some) => {
    const groups = groupsOf(some, summed);
    return summed.meets.undecided === 'false' ? [groups] : [groups, undecidedOf(some, summed)];
  });
  return `select ${[...printed(summed.columns), WEIGHT].join(', ')} from (${selects.join(' union all ')})`;
}

function undecidedOf(files: readonly KnownFile[], summed: SummedRows): string {
  const { columns, meets } = summed;
  const values = columns.map(({ name }) => (name === TIME ? `own_time as ${TIME}` : identifier(name)));
  return `select ${[...values, `1 as ${WEIGHT}`].join(', ')} from ${rowsOf(files, summed)} where (${meets.may}) and (${meets.undecided})`;
}

/** Groups the rows of files that are alike, if they meet the condition for certain. */
function groupsOf(files: readonly KnownFile[], summed: SummedRows): string {
  const { columns, kept, meets, weighed } = summed;
  const constants = constantsOf(files[0], summed);
  const isConstant = ({ name }: ArchivedColumn) => name in constants;
  const isOfFile = ({ name }: ArchivedColumn) => name === TIME && kept.has(name) && name in constants;
  const isNamed = ({ name, type }: ArchivedColumn) =>
    // 0 and -0 are equal, and have other texts.
    kept.has(name) && type !== 'double precision' && (name !== TIME || weighed.grain === 1);
  const varying = columns.filter((column) => !isConstant(column));
  const named = varying.filter(isNamed).map(({ name }) => identifier(name));
  const others = varying
    .filter((column) => kept.has(column.name) && !isNamed(column))
    .map(({ name }) => (name === TIME ? timeGroup(weighed.grain) : `${identifier(name)}::varchar`));
  if (columns.some(isOfFile)) named.push('file_index');
  // Without groups there is a row even if there is none.
  const groups = [...named, ...others];
  const by = groups.length === 0 ? 'having count(*) > 0' : `group by ${groups.join(', ')}`;
  // The condition is true whatever the other columns are, of which ids take more space than all the rest.
  const isRead = ({ name }: ArchivedColumn) => kept.has(name) || meets.must.includes(identifier(name));
  const values = columns.map((column) => {
    const name = identifier(column.name);
    if (isOfFile(column)) return `${timesOf(files)}[file_index::BIGINT + 1] as ${name}`;
    if (isConstant(column)) return `${constants[column.name]} as ${name}`;
    if (isNamed(column)) return name;
    return isRead(column) ? `found.row.${name} as ${name}` : nullAs(column);
  });
  const isCounted = !varying.some(isRead);
  const rows = isCounted ? countedRows(files, constants) : rowsOf(files, summed);
  const picked = varying.filter((column) => !isNamed(column) && isRead(column));
  const found = foundOf(picked, isCounted ? 'sum(row_count)::BIGINT' : 'count(*)', summed);
  return `select ${[...values, `found.weight as ${WEIGHT}`].join(', ')} from (
    select ${[...named, `${found} as found`].join(', ')} from ${rows} where ${meets.must} ${by})`;
}

/** The rows of files that are alike. Their constants are not read. */
const rowsOf = (files: readonly KnownFile[], summed: SummedRows) =>
  filesAsTable(
    files.map(({ path }) => path),
    summed.all,
    constantsOf(files[0], summed),
  );

/** For each file, a row that stands for all of its rows: nothing is read of them but constants. */
function countedRows(files: readonly KnownFile[], constants: Constants): string {
  const known = Object.entries(constants).map(([column, value]) => `${value} as ${identifier(column)}`);
  const counts = files.map(({ rows }, index) => `(${index}, ${rows})`);
  return `(select ${['*', ...known].join(', ')} from (values ${counts.join(', ')}) as counted (file_index, row_count))`;
}

/** What is known of a group beside its values: these columns of one row of it, or two. */
function foundOf(columns: readonly ArchivedColumn[], count: string, summed: SummedRows): string {
  const row = `{${columns.map(({ name }) => `${literal(name)}: ${identifier(name)}`).join(', ')}}`;
  if (!needsEnds(summed))
    return `{row: ${columns.length === 0 ? 'null' : `first(${row})`}, weight: ${count}}`;
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

/**
 * What need not be read of a file: what all of its rows have, and what can be taken for that. Only values that the condition names:
 * with others, each file could be unlike all others.
 */
function constantsOf(file: KnownFile | undefined, summed: SummedRows): Constants {
  if (file === undefined) return {};
  const { must } = summed.meets;
  const compared = Object.entries(file.constants ?? {}).filter(
    ([column, value]) => must.includes(identifier(column)) && must.includes(value),
  );
  const fixed = {
    [TIME]: timestamp(file.firstAt),
    source: literal(file.source),
    message_type: literal(file.messageType),
  };
  return { ...Object.fromEntries(compared), ...(isFixed(file, summed) ? fixed : {}) };
}

const timesOf = (files: readonly ReadableFile[]) =>
  `[${files.map(({ firstAt }) => timestamp(firstAt)).join(', ')}]`;

const timestamp = (time: Date) => `${literal(time.toISOString())}::TIMESTAMPTZ`;

/** Before, there were zones that differed from UTC by other times than whole quarters of an hour. */
const FIRST_WHOLE_ZONES = Date.UTC(1980);

/** Times before are not grouped, and have numbers that no group has. */
const timeGroup = (grain: number) =>
  `case when ${TIME} < ${timestamp(new Date(FIRST_WHOLE_ZONES))} then epoch_us(${TIME}) - 1000000000000000000 else epoch_us(${TIME}) // ${grain} end`;
