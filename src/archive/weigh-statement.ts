import { parse } from 'libpg-query';
import { z } from 'zod';
import { canBeWeighed, WEIGHT } from '../store/archive/archive-schema.ts';

/*
 * Statements that sum up. A group of rows that such a statement cannot tell apart is loaded as one row that has their number as its
 * weight, and the statement counts weights in place of rows. Everything else is left to Postgres as it is: which rows it
 * reads, its groups, its other aggregates, their order. Only words whose effect is known here are let through; with others
 * the statement reads row by row.
 */

/** How much of a time a statement tells apart, in microseconds: a day or an hour in UTC, or a quarter of an hour; 1: all. */
type Grain = number;

const SECOND = 1_000_000;
const QUARTER: Grain = 900 * SECOND;
const HOUR: Grain = 3_600 * SECOND;
const DAY: Grain = 86_400 * SECOND;
const EXACT: Grain = 1;

export interface WeighedStatement {
  /** The statement, which reads the views of a schema that have weights. */
  readonly textIn: (schema: string) => string;
  /** What it tells apart of `occurred_at`, beside the conditions on rows. */
  readonly grain: Grain;
  /** It also reads the first and the last time of a group. */
  readonly readsEnds: boolean;
}

interface Weighing {
  /** Of the session. */
  readonly zone: string;
  /** The time of the statement is known already, because its transaction has begun. */
  readonly isNowKnown: boolean;
  readonly values: readonly unknown[];
}

const String_ = z.object({ String: z.object({ sval: z.string() }) }).transform((node) => node.String.sval);

const ColumnRef = z
  .object({ ColumnRef: z.object({ fields: z.array(String_).min(1) }) })
  .transform(({ ColumnRef: { fields } }) => fields);

/** Without a window, an order and others. */
const FuncCall = z.strictObject({
  funcname: z.array(String_),
  args: z.array(z.unknown()).default([]),
  agg_filter: z.unknown().optional(),
  agg_distinct: z.boolean().default(false),
  agg_star: z.boolean().optional(),
  funcformat: z.string(),
  location: z.number(),
});

const NamedCall = z.object({ FuncCall });

const TypeCast = z.object({
  arg: z.unknown(),
  typeName: z.object({ names: z.array(String_).min(1) }),
});

const Text = z
  .object({ A_Const: z.object({ sval: z.object({ sval: z.string().default('') }) }) })
  .transform(({ A_Const }) => A_Const.sval.sval);

const Target = z
  .object({ ResTarget: z.object({ name: z.string().optional(), val: z.unknown(), location: z.number() }) })
  .transform(({ ResTarget }) => ResTarget);

const Alias = z.strictObject({ aliasname: z.string() }).optional();

/** One table or subquery, without a schema, a lateral or names of columns. */
const From = z.tuple([
  z.union([
    z.object({
      RangeVar: z.strictObject({
        relname: z.string(),
        inh: z.literal(true),
        relpersistence: z.string(),
        alias: Alias,
        location: z.number(),
      }),
    }),
    z.object({
      RangeSubselect: z.strictObject({
        subquery: z.object({ SelectStmt: z.unknown() }),
        alias: Alias,
      }),
    }),
  ]),
]);

type FromItem = z.output<typeof From>[0];

/** Without the clauses that are not named. */
const Select = z.strictObject({
  targetList: z.array(Target),
  fromClause: From,
  whereClause: z.unknown().optional(),
  groupClause: z.array(z.unknown()).optional(),
  groupDistinct: z.boolean().optional(),
  havingClause: z.unknown().optional(),
  sortClause: z.array(z.unknown()).optional(),
  distinctClause: z.array(z.unknown()).optional(),
  limitCount: z.unknown().optional(),
  limitOffset: z.unknown().optional(),
  limitOption: z.string(),
  op: z.literal('SETOP_NONE'),
});

/** Selects rows as they are. */
const Rows = z.strictObject({
  targetList: z.array(Target),
  fromClause: From,
  whereClause: z.unknown().optional(),
  limitOption: z.literal('LIMIT_OPTION_DEFAULT'),
  op: z.literal('SETOP_NONE'),
});

const Union = z.strictObject({
  op: z.literal('SETOP_UNION'),
  all: z.literal(true),
  larg: z.unknown(),
  rarg: z.unknown(),
  limitOption: z.literal('LIMIT_OPTION_DEFAULT'),
});

const Parsed = z.object({
  stmts: z.tuple([z.object({ stmt: z.object({ SelectStmt: Select }) })]),
});

/** The statement has something that is not known to mean the same over weighed rows. */
class NotWeighedError extends Error {
  override readonly name = 'NotWeighedError';
}

const KNOWN: ReadonlySet<string> = new Set(
  `A_ArrayExpr A_Const A_Expr BoolExpr BooleanTest CaseExpr CaseWhen CoalesceExpr CollateClause GroupingFunc GroupingSet
   List MinMaxExpr NamedArgExpr NullTest ParamRef RowExpr SortBy String`.split(/\s+/),
);

/** A row more or less of the same values does not change them. */
const SAME_FOR_FEWER: ReadonlySet<string> = new Set(['min', 'max', 'bool_and', 'bool_or', 'every']);

/** They have one value for the same arguments in one statement. */
const PURE: ReadonlySet<string> = new Set(
  `abs btrim ceil date_bin date_part date_trunc extract floor fold_name host is_superseded jsonb_extract_path_text
   left length lower ltrim make_interval md5 mod octet_length position regexp_replace replace right round rtrim split_part
   starts_with strpos substr substring timezone to_char trunc upper`.split(/\s+/),
);

/** What a function reads of a time, by the text that says so: a unit, or a format. */
const UNITS: Readonly<Record<string, Grain>> = {
  hour: HOUR,
  ...Object.fromEntries(
    ['day', 'dow', 'isodow', 'doy', 'week', 'month', 'quarter', 'year'].map((unit) => [unit, DAY]),
  ),
};
const FORMATS: readonly (readonly [RegExp, Grain])[] = [
  [/^(?:YYYY|IYYY|MM|DD|IW|ID|[-/. ])*$/, DAY],
  [/^(?:YYYY|IYYY|MM|DD|IW|ID|HH24|[-/.:0 ])*$/, HOUR],
];

/** Since 1980, the clocks of all zones have differed from UTC by whole quarters of an hour. */
const ZONE = /^[A-Z][A-Za-z]+\/[A-Za-z_/-]+$/;

const COUNT = /^count\s*\(\s*(?<counted>\*|(?:\w+\s*\.\s*)?\w+)\s*\)/i;

/** Undefined: the statement is to read row by row. */
export async function weighStatement(
  text: string,
  weighing: Weighing,
): Promise<WeighedStatement | undefined> {
  const parsed = Parsed.safeParse(await parse(text).catch(() => undefined));
  if (!parsed.success) return undefined;
  try {
    return weigh(text, parsed.data.stmts[0].stmt.SelectStmt, weighing);
  } catch (error) {
    if (error instanceof NotWeighedError) return undefined;
    throw error;
  }
}

function weigh(
  text: string,
  select: z.output<typeof Select>,
  { zone: ownZone, isNowKnown, values }: Weighing,
): WeighedStatement {
  const sent = Buffer.from(text);
  const edits: Edit[] = [];
  const relations = new Set<string>();
  let grain = DAY;
  let readsEnds = false;
  let sums = select.groupClause !== undefined;

  readFrom(select.fromClause[0]);
  readCondition(select.whereClause);
  const { targetList, groupClause, havingClause, sortClause, distinctClause, limitCount, limitOffset } =
    select;
  read([targetList.map(({ val }) => val), groupClause, havingClause, sortClause, distinctClause]);
  read([limitCount, limitOffset]);
  if (!sums) throw new NotWeighedError('it does not sum up');
  return { textIn: (schema) => edited(sent, edits, schema), grain, readsEnds };

  function readFrom(item: FromItem): void {
    if ('RangeSubselect' in item) {
      const { subquery, alias } = item.RangeSubselect;
      if (alias !== undefined) relations.add(alias.aliasname);
      readRows(subquery.SelectStmt, undefined);
      return;
    }
    const { relname, alias, location } = item.RangeVar;
    if (!canBeWeighed(relname)) throw new NotWeighedError(`${relname} has no weights`);
    relations.add(alias?.aliasname ?? relname);
    edits.push({ at: location, length: 0, by: '', isInSchema: true });
  }

  /** Rows that the statement sums up. Those of a union are named as those of its first part. */
  function readRows(node: unknown, first: readonly (string | undefined)[] | undefined): typeof first {
    const union = Union.safeParse(node);
    if (union.success) {
      const named = readRows(union.data.larg, first);
      if (named?.length === 0) throw new NotWeighedError('its columns have no names');
      readRows(union.data.rarg, named);
      return named;
    }
    const rows = Rows.safeParse(node);
    if (!rows.success) throw new NotWeighedError('its rows are not read as they are');
    const { targetList: targets, fromClause, whereClause } = rows.data;
    readFrom(fromClause[0]);
    readCondition(whereClause);
    const own = targets.map(({ name, val }) => name ?? ColumnRef.safeParse(val).data?.at(-1));
    const isStar = targets.length === 1 && /"A_Star"/.test(JSON.stringify(targets));
    if (isStar && first === undefined) return [];
    for (const [index, { val }] of targets.entries()) {
      // What is only passed on is read where the name is read.
      const isPassedOn = isTime(val) && (first ?? own)[index] === TIME;
      if (!isPassedOn) readValue(val);
    }
    const [target] = targets;
    if (target === undefined || isStar) throw new NotWeighedError('its columns have no names');
    edits.push({ at: target.location, length: 0, by: `${WEIGHT}, `, isInSchema: false });
    return first ?? own;
  }

  /** Which rows meet it is known, whatever it reads. */
  function readCondition(node: unknown): void {
    const known = grain;
    readValue(node);
    grain = known;
  }

  /** An expression of a single row. */
  function readValue(node: unknown): void {
    const known = { sums, count: edits.length, readsEnds };
    sums = false;
    read(node);
    if (sums || edits.length > known.count) throw new NotWeighedError('it sums up within what it sums up');
    ({ sums } = known);
  }

  function read(node: unknown): void {
    if (Array.isArray(node)) for (const one of node) read(one);
    else if (typeof node === 'object' && node !== null)
      for (const [kind, value] of Object.entries(node)) readNode(kind, value);
  }

  function readNode(kind: string, value: unknown): void {
    switch (kind) {
      case 'FuncCall':
        return readCall(FuncCall.safeParse(value).data);
      case 'TypeCast': {
        const cast = TypeCast.parse(value);
        const known = cast.typeName.names.at(-1) === 'date' ? grainOf(cast.arg, DAY) : undefined;
        return known === undefined ? read(cast.arg) : narrow(known);
      }
      case 'ColumnRef':
        return readColumn(ColumnRef.safeParse({ ColumnRef: value }).data?.at(-1));
      default: {
        // The members of a node have small letters.
        const isKnown = KNOWN.has(kind) || (kind === 'SQLValueFunction' && isNowKnown);
        if (/^[A-Z]/.test(kind) && !isKnown) throw new NotWeighedError(`it has a ${kind}`);
        return read(value);
      }
    }
  }

  /** A whole row would have the weight, too. */
  function readColumn(name: string | undefined): void {
    if (name === undefined || name === WEIGHT || relations.has(name))
      throw new NotWeighedError('it reads whole rows');
    if (name === TIME) narrow(EXACT);
  }

  function readCall(call: z.output<typeof FuncCall> | undefined): void {
    const [name, ...schemas] = call?.funcname.toReversed() ?? [];
    if (call === undefined || name === undefined || schemas.some((one) => one !== 'pg_catalog'))
      throw new NotWeighedError('it calls a function in a way that is not known');
    if (name === 'count' || SAME_FOR_FEWER.has(name)) return readAggregate(name, call);
    if (!PURE.has(name) && !(name === 'now' && isNowKnown)) throw new NotWeighedError(`it calls ${name}`);
    const known = grainOfCall(name, call.args);
    return known === undefined ? read(call.args) : narrow(known);
  }

  function readAggregate(
    name: string,
    { args, agg_distinct, agg_filter, location }: z.output<typeof FuncCall>,
  ): void {
    sums = true;
    const isEnd = (name === 'min' || name === 'max') && isTime(args[0]);
    if (isEnd) readsEnds = true;
    else read(args);
    read(agg_filter);
    if (name !== 'count' || agg_distinct) return;
    const [found, counted = ''] = COUNT.exec(sent.subarray(location).toString()) ?? [];
    // A row as a whole is null if one of its columns is.
    if (found === undefined || relations.has(counted)) throw new NotWeighedError('it counts an expression');
    const by = counted === '*' ? WEIGHT : `case when ${counted} is not null then ${WEIGHT} end`;
    edits.push({ at: location, length: Buffer.byteLength(found), by: `count(${by})`, isInSchema: true });
  }

  function narrow(known: Grain): void {
    grain = Math.min(grain, known);
  }

  /** What a function reads of the time; undefined: that is not known. */
  function grainOfCall(name: string, args: readonly unknown[]): Grain | undefined {
    const [first, second, third] = args;
    switch (name) {
      case 'date_trunc':
      case 'date_part':
      case 'extract': {
        const unit = UNITS[Text.safeParse(first).data ?? ''];
        return unit && grainOf(second, unit, third);
      }
      case 'to_char': {
        const format = Text.safeParse(second).data;
        const [, known] = FORMATS.find(([pattern]) => format !== undefined && pattern.test(format)) ?? [];
        return known && grainOf(first, known);
      }
      case 'date_bin':
        return grainOfBins(args);
      default:
        return undefined;
    }
  }

  /** Of the time in the session's zone, or in another one. */
  function grainOf(node: unknown, known: Grain, zone?: unknown): Grain | undefined {
    if (isTime(node)) return inZone(zone === undefined ? ownZone : Text.safeParse(zone).data, known);
    const call = NamedCall.safeParse(node).data?.FuncCall;
    if (call?.funcname.at(-1) !== 'timezone' || zone !== undefined || !isTime(call.args[1])) return undefined;
    return inZone(Text.safeParse(call.args[0]).data, known);
  }

  /** `date_bin(make_interval(secs => $1), occurred_at, $2)` */
  function grainOfBins([width, time, from]: readonly unknown[]): Grain | undefined {
    const call = NamedCall.safeParse(width).data?.FuncCall;
    const isWidth = call?.funcname.at(-1) === 'make_interval' && call.args.length === 1;
    const seconds = z.number().safeParse(valueOf(Seconds.safeParse(call?.args[0]).data));
    const origin = z.date().safeParse(valueOf(Parameter.safeParse(from).data));
    if (!isWidth || !isTime(time) || !seconds.success || !origin.success) return undefined;
    const [length, start] = [seconds.data * SECOND, origin.data.getTime() * 1000];
    return [DAY, HOUR, QUARTER].find((one) => length % one === 0 && start % one === 0);
  }

  function valueOf(parameter: number | undefined): unknown {
    return parameter === undefined ? undefined : values[parameter - 1];
  }
}

const ParamRef = z.object({ ParamRef: z.object({ number: z.number() }) });

const Parameter = z
  .object({ TypeCast: z.object({ arg: ParamRef }) })
  .transform(({ TypeCast: { arg } }) => arg.ParamRef.number);

const Seconds = z
  .object({ NamedArgExpr: z.object({ name: z.literal('secs'), arg: ParamRef }) })
  .transform(({ NamedArgExpr: { arg } }) => arg.ParamRef.number);

const TIME = 'occurred_at';

const isTime = (node: unknown) => ColumnRef.safeParse(node).data?.at(-1) === TIME;

function inZone(zone: string | undefined, known: Grain): Grain | undefined {
  if (zone !== undefined && /^(?:Etc\/)?UTC$/.test(zone)) return known;
  return zone !== undefined && ZONE.test(zone) ? QUARTER : undefined;
}

/** What comes in place of a part of the statement, in bytes. */
interface Edit {
  readonly at: number;
  readonly length: number;
  readonly by: string;
  readonly isInSchema: boolean;
}

function edited(sent: Buffer, edits: readonly Edit[], schema: string): string {
  let end = 0;
  const parts = edits
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, length, by, isInSchema }) => {
      const part = `${sent.subarray(end, at).toString()}${isInSchema ? `${schema}.` : ''}${by}`;
      end = at + length;
      return part;
    });
  return parts.join('') + sent.subarray(end).toString();
}
