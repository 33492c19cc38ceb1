import { parse } from 'libpg-query';
import type { A_Const, A_Expr, BoolExprType, Node, NullTest, TypeName } from 'libpg-query';
import type { Within } from '../store/archive/archived-files.ts';
import { identifier, literal } from './engine.ts';

/*
 * Conditions of Postgres in the words of DuckDB. Postgres applies every condition again to the rows that it gets, so a translation
 * may let rows through, but must not lose one that Postgres would find: what is not known here may be true of any row.
 */

/** What a condition of Postgres says of a row, for DuckDB. */
export interface Translated {
  /** True of all rows that meet it, and perhaps of others. */
  readonly may: string;
  /** True only of rows that meet it, and perhaps not of all. */
  readonly must: string;
  /** True of all rows of which `must` is not. */
  readonly otherwise: string;
  /** True of those that it may be true of, and not for certain. */
  readonly undecided: string;
  /** Which files can have rows that meet it. */
  readonly within: Within;
}

const UNKNOWN: Translated = {
  may: 'true',
  must: 'false',
  otherwise: 'true',
  undecided: 'true',
  within: {},
};

const latest = (a: Date | undefined, b: Date | undefined) =>
  a === undefined || (b !== undefined && b > a) ? b : a;
const earliest = (a: Date | undefined, b: Date | undefined) =>
  a === undefined || (b !== undefined && b < a) ? b : a;

const both = (a: Within, b: Within): Within => ({
  since: latest(a.since, b.since),
  until: earliest(a.until, b.until),
  source: a.source ?? b.source,
  message_type: a.message_type ?? b.message_type,
});

const either = (a: Within, b: Within): Within => ({
  since: a.since && b.since && earliest(a.since, b.since),
  until: a.until && b.until && latest(a.until, b.until),
  source: a.source && b.source && [...a.source, ...b.source],
  message_type: a.message_type && b.message_type && [...a.message_type, ...b.message_type],
});

const NAMED: ReadonlySet<string> = new Set(['source', 'message_type']);

function withinOf(column: string, operator: string, values: readonly string[]): Within {
  if (NAMED.has(column) && operator === '=') return { [column]: values };
  const time = new Date(values[0] ?? '');
  if (column !== 'occurred_at' || Number.isNaN(time.getTime())) return {};
  switch (operator) {
    case '=':
      return values.length === 1 ? { since: time, until: new Date(time.getTime() + 1) } : {};
    case '>':
    case '>=':
      return { since: time };
    case '<':
    case '<=':
      // Postgres has microseconds, and a Date has milliseconds.
      return { until: new Date(time.getTime() + 1) };
    default:
      return {};
  }
}

/** The text of a node that is a name. */
const nameIn = (node: Node | undefined) =>
  node !== undefined && 'String' in node ? node.String.sval : undefined;

const onlyName = (nodes: readonly Node[] = []) => (nodes.length === 1 ? nameIn(nodes[0]) : undefined);

/** The names by which Postgres prints the types that the parser knows by those of the catalogue. */
const PRINTED_TYPES: Readonly<Record<string, string>> = {
  int4: 'integer',
  int8: 'bigint',
  float8: 'double precision',
  bool: 'boolean',
  timestamptz: 'timestamp with time zone',
};

function typeOf({ names = [], arrayBounds = [] }: TypeName): string | undefined {
  const name = nameIn(names.at(-1));
  if (name === undefined || arrayBounds.length > 1) return undefined;
  return `${PRINTED_TYPES[name] ?? name}${arrayBounds.length === 0 ? '' : '[]'}`;
}

/** A value that is known before the rows are read: the text that Postgres prints, and its type. */
interface Value {
  readonly text: string;
  readonly type: string;
}

function literalOf({ sval, ival }: A_Const): Value | undefined {
  if (sval !== undefined) return { text: sval.sval ?? '', type: 'text' };
  return ival && { text: String(ival.ival ?? 0), type: 'integer' };
}

function constantOf(node: Node | undefined): Value | undefined {
  if (node === undefined) return undefined;
  if ('A_Const' in node) return literalOf(node.A_Const);
  if (!('TypeCast' in node)) return undefined;
  const { arg, typeName } = node.TypeCast;
  const value = arg !== undefined && 'A_Const' in arg ? literalOf(arg.A_Const) : undefined;
  const type = typeName && typeOf(typeName);
  return value === undefined || type === undefined ? undefined : { text: value.text, type };
}

/** The name of a function that is called, and its arguments. */
const callIn = (node: Node | undefined) =>
  node !== undefined && 'FuncCall' in node
    ? { name: onlyName(node.FuncCall.funcname), args: node.FuncCall.args ?? [] }
    : undefined;

interface Comparison {
  /** The types whose values a column is compared with. */
  readonly with: readonly string[];
  /** A value in DuckDB. */
  readonly write: (text: string) => string;
  /** Both put the values of the type in the same order. */
  readonly isOrdered: boolean;
}

const cast = (type: string) => (text: string) => `${literal(text)}::${type}`;

const INTEGER: Comparison = { with: ['integer', 'bigint', 'xid8'], write: cast('HUGEINT'), isOrdered: true };

/** By the type of the column. Texts are equal when their bytes are, but their order is that of a language. */
const COMPARISONS: Readonly<Record<string, Comparison>> = {
  bigint: INTEGER,
  integer: INTEGER,
  xid8: INTEGER,
  'double precision': { with: ['double precision'], write: cast('DOUBLE'), isOrdered: true },
  'timestamp with time zone': {
    with: ['timestamp with time zone'],
    write: cast('TIMESTAMPTZ'),
    isOrdered: true,
  },
  uuid: { with: ['uuid'], write: cast('UUID'), isOrdered: false },
  text: { with: ['text'], write: literal, isOrdered: false },
  macaddr: { with: ['macaddr'], write: literal, isOrdered: false },
  inet: { with: ['inet'], write: literal, isOrdered: false },
};

const EQUALITIES: ReadonlySet<string> = new Set(['=', '<>']);
const SAME_IN_BOTH: ReadonlySet<string> = new Set(['=', '<>', '<', '<=', '>', '>=']);
const MIRRORED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' };

/** A member of an array's literal, such as `{a,"b \"c\"",NULL}`. */
const MEMBER = /"(?<quoted>(?:[^"\\]|\\.)*)"|(?<plain>[^{},"]+)/gs;

/** Null members are undefined. */
function membersOf(array: string): readonly (string | undefined)[] | undefined {
  const inner = /^\{(?<inner>.*)\}$/s.exec(array)?.groups?.['inner'];
  if (inner === undefined || inner.startsWith('{')) return undefined;
  return Array.from(inner.matchAll(MEMBER), ({ groups: { quoted, plain } = {} }) =>
    plain === 'NULL' ? undefined : (quoted?.replaceAll(/\\(.)/gs, '$1') ?? plain),
  );
}

/** Finds the value of an expression without columns. Undefined: it has none. */
export type Evaluate = (expression: string) => Promise<Value | undefined>;

/**
 * Translates what a plan of Postgres filters a scan by. `types` are those of the columns of the scanned table, which the plan
 * knows by an alias: columns of other tables have one value for each time that the scan runs.
 */
export async function translate(
  filter: string,
  { alias, types }: { readonly alias: string; readonly types: ReadonlyMap<string, string> },
  evaluate: Evaluate,
): Promise<Translated> {
  const sent = Buffer.from(PREFIX + filter);
  const [statement, ...others] = (await parse(PREFIX + filter).catch(() => undefined))?.stmts ?? [];
  const select = others.length > 0 ? undefined : statement?.stmt;
  return translateNode(
    select !== undefined && 'SelectStmt' in select ? select.SelectStmt.whereClause : undefined,
  );

  /** The name of a column of the scanned table. */
  function columnOf(node: Node | undefined): string | undefined {
    if (node === undefined || !('ColumnRef' in node)) return undefined;
    const [name, relation] = (node.ColumnRef.fields ?? []).map(nameIn).toReversed();
    return relation === undefined || relation === alias ? name : undefined;
  }

  async function translateNode(node: Node | undefined): Promise<Translated> {
    if (node === undefined) return UNKNOWN;
    if ('BoolExpr' in node && node.BoolExpr.boolop !== undefined) {
      const { boolop, args = [] } = node.BoolExpr;
      return combine(boolop, await Promise.all(args.map(translateNode)));
    }
    if ('A_Expr' in node) return translateOperation(node.A_Expr);
    if ('NullTest' in node) return isNull(node.NullTest);
    const column = columnOf(node);
    return column !== undefined && types.get(column) === 'boolean' ? exact(identifier(column)) : UNKNOWN;
  }

  function isNull({ arg, nulltesttype }: NullTest): Translated {
    const column = columnOf(arg);
    if (column === undefined || !types.has(column) || nulltesttype === undefined) return UNKNOWN;
    return exact(`${identifier(column)} ${nulltesttype === 'IS_NULL' ? 'is null' : 'is not null'}`);
  }

  async function translateOperation(operation: A_Expr): Promise<Translated> {
    const { kind, lexpr, rexpr, location = 0 } = operation;
    const name = onlyName(operation.name);
    if (kind === 'AEXPR_OP_ANY' && name === '=') return translateAny(lexpr, rexpr);
    if (kind !== 'AEXPR_OP' || name === undefined) return UNKNOWN;
    const [left, right] = [columnOf(lexpr), columnOf(rexpr)];
    if (left !== undefined) {
      const value = await knownValue(rexpr, location + name.length);
      return value === undefined ? UNKNOWN : compare(left, name, value);
    }
    const constant = constantOf(right === undefined ? rexpr : lexpr);
    if (constant === undefined) return UNKNOWN;
    if (right !== undefined) return compare(right, MIRRORED[name] ?? name, constant);
    return compareFolded(lexpr, name, constant.text);
  }

  /** `source = any('{a,b}')` and `'a' = any(host_names)`. */
  function translateAny(lexpr: Node | undefined, rexpr: Node | undefined): Translated {
    const [left, right] = [columnOf(lexpr), columnOf(rexpr)];
    const constant = constantOf(left === undefined ? lexpr : rexpr);
    if (constant === undefined) return UNKNOWN;
    if (left !== undefined) return isAnyOf(left, constant);
    return right === undefined ? UNKNOWN : hasMember(right, constant);
  }

  function compare(column: string, operator: string, { text, type }: Value): Translated {
    const name = identifier(column);
    if (operator === '~~' && types.get(column) === 'text')
      return exact(`${name} like ${literal(text)} escape '\\'`);
    const comparison = COMPARISONS[types.get(column) ?? ''];
    if (comparison?.with.includes(type) !== true || !SAME_IN_BOTH.has(operator)) return UNKNOWN;
    if (!comparison.isOrdered && !EQUALITIES.has(operator)) return UNKNOWN;
    const value = comparison.write(text);
    // In this form, DuckDB passes over parts of a file by their statistics.
    const otherwise = operator === '=' ? `${name} <> ${value} or ${name} is null` : undefined;
    return exact(`${name} ${operator} ${value}`, withinOf(column, operator, [text]), otherwise);
  }

  function isAnyOf(column: string, { text, type }: Value): Translated {
    const comparison = COMPARISONS[types.get(column) ?? ''];
    const members = membersOf(text);
    if (members === undefined || comparison?.with.includes(elementOf(type)) !== true) return UNKNOWN;
    if (members.length === 0) return exact('false');
    const known = members.filter((member) => member !== undefined);
    const list = [...known.map(comparison.write), ...(known.length < members.length ? ['null'] : [])];
    return exact(`${identifier(column)} in (${list.join(', ')})`, withinOf(column, '=', known));
  }

  function hasMember(column: string, { text, type }: Value): Translated {
    const list = types.get(column) ?? '';
    const comparison = COMPARISONS[elementOf(list)];
    if (elementOf(list) === list || comparison?.with.includes(type) !== true) return UNKNOWN;
    const name = identifier(column);
    const must = `list_contains(${name}, ${comparison.write(text)})`;
    // With a null, it is unknown whether another value is a member.
    const may = `${must} or len(${name}) <> list_count(${name})`;
    return { may, must, otherwise: notTrue(must), undecided: notTrue(must), within: {} };
  }

  /** `lower(name) = 'x'` and `lower(left(name, 64)) ~~ 'x%'`. */
  function compareFolded(expression: Node | undefined, operator: string, text: string): Translated {
    const lower = callIn(expression);
    if (lower?.name !== 'lower' || (operator !== '=' && operator !== '~~')) return UNKNOWN;
    const [argument] = lower.args;
    const left = callIn(argument);
    const isLeft = left?.name === 'left';
    const column = columnOf(isLeft ? left.args[0] : argument);
    const isAscii = Buffer.byteLength(text) === text.length;
    if (column === undefined || types.get(column) !== 'text' || !isAscii) return UNKNOWN;
    const name = identifier(column);
    const pattern = operator === '=' ? text.replaceAll(/[\\%_]/g, String.raw`\$&`) : text;
    const isLike = (one: string) => `lower(${name}) like ${literal(one)} escape '\\'`;
    // By the rules of a language, other letters become ones of ASCII, too.
    const hasOthers = `strlen(${name}) <> length(${name})`;
    const must = isLeft ? 'false' : `${isLike(pattern)} and not ${hasOthers}`;
    const otherwise = notTrue(must);
    const may = `${isLike(isLeft ? `${pattern}%` : pattern)} or ${hasOthers}`;
    return { may, must, otherwise, undecided: otherwise, within: {} };
  }

  /** The value that a column is compared with. Postgres puts every operation in brackets, so the value ends with them. */
  async function knownValue(node: Node | undefined, begin: number): Promise<Value | undefined> {
    const constant = constantOf(node);
    if (constant !== undefined) return constant;
    if (/"(?:ColumnRef|ParamRef|SubLink)"/.test(JSON.stringify(node))) return undefined;
    return evaluate(upToBracket(sent.subarray(begin).toString()));
  }
}

const PREFIX = 'select where ';

const elementOf = (type: string) => type.replace(/\[\]$/, '');

const notTrue = (condition: string) => `(${condition}) is not true`;

/** A condition of DuckDB that means the same. */
export const exact = (
  condition: string,
  within: Within = {},
  otherwise = notTrue(condition),
): Translated => ({ may: condition, must: condition, otherwise, undecided: 'false', within });

/** All of these conditions together. */
export const allTranslated = (parts: readonly Translated[]) => combine('AND_EXPR', parts);

/** One of these conditions, of which there is at least one. */
export const anyTranslated = (parts: readonly Translated[]) => combine('OR_EXPR', parts);

function combine(operator: BoolExprType, parts: readonly Translated[]): Translated {
  const all = (texts: readonly string[]) =>
    texts.length === 0 ? 'true' : texts.map((text) => `(${text})`).join(' and ');
  const any = (texts: readonly string[]) =>
    texts.length === 0 ? 'false' : texts.map((text) => `(${text})`).join(' or ');
  const [mays, musts] = [parts.map(({ may }) => may), parts.map(({ must }) => must)];
  const otherwises = parts.map(({ otherwise }) => otherwise);
  const ranges = parts.map(({ within }) => within);
  const areExact = parts.every(({ undecided }) => undecided === 'false');
  switch (operator) {
    case 'AND_EXPR':
      return {
        may: all(mays),
        must: all(musts),
        otherwise: any(otherwises),
        // The others are true.
        undecided: areExact
          ? 'false'
          : any(parts.map(({ undecided }) => undecided).filter((one) => one !== 'false')),
        within: ranges.reduce(both, {}),
      };
    case 'OR_EXPR':
      return {
        may: any(mays),
        must: any(musts),
        otherwise: all(otherwises),
        undecided: areExact ? 'false' : all(otherwises),
        within: ranges.reduce(either),
      };
    case 'NOT_EXPR': {
      // Where the condition is unknown, so is its opposite.
      const otherwise = `coalesce(${all(mays)}, true)`;
      return {
        may: `not coalesce(${all(musts)}, false)`,
        must: `not (${all(mays)})`,
        otherwise,
        undecided: areExact ? 'false' : otherwise,
        within: {},
      };
    }
  }
}

/** The beginning of an expression, up to the bracket that closes one before it. */
function upToBracket(text: string): string {
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(/'(?:[^']|'')*'|"[^"]*"|[()]/g)) {
    if (token === '(') depth += 1;
    if (token !== ')') continue;
    if (depth === 0) return text.slice(0, index);
    depth -= 1;
  }
  return text;
}
