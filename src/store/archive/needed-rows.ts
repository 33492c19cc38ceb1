import { z } from 'zod';
import { tableOfArchived } from './archive-schema.ts';

/** What a statement needs of the archived rows of a table, as the plan of Postgres says. */
export interface NeededRows {
  readonly table: string;
  /** The name by which the filters know it. */
  readonly alias: string;
  /** Rows that do not meet all of these are of no use. Each is an expression as Postgres prints it. */
  readonly filters: readonly string[];
  /** The columns that the statement reads, among other words; `*`: all. */
  readonly columns: ReadonlySet<string>;
  /** Those that it reads of the rows that the scan has found. */
  readonly passedOn: ReadonlySet<string>;
  /** Nothing but sums of the rows that the scan has found is read. */
  readonly areSummed: boolean;
  /** Only the first rows in this order of `occurred_at` are read, as many as the statement's limit, if all that match are known. */
  readonly order: 'asc' | 'desc' | undefined;
}

interface Plan {
  readonly node: z.output<typeof PlanNode>;
  readonly children: readonly Plan[];
}

const PlanNode = z.object({
  'Node Type': z.string(),
  'Relation Name': z.string().optional(),
  Alias: z.string().default(''),
  'Parent Relationship': z.string().optional(),
  Filter: z.string().optional(),
  'Index Cond': z.string().optional(),
  'Recheck Cond': z.string().optional(),
  'Join Filter': z.string().optional(),
  'One-Time Filter': z.string().optional(),
  'Scan Direction': z.string().optional(),
  'Sort Key': z.array(z.string()).optional(),
  Output: z.array(z.string()).default([]),
});

const PlanTree: z.ZodType<Plan> = z
  .looseObject({
    get Plans() {
      return z.array(PlanTree).default([]);
    },
  })
  .transform((value) => ({ node: PlanNode.parse(value), children: value.Plans }));

const Explained = z.array(z.object({ Plan: PlanTree }));

/** The nodes that pass all rows of their children on, with each column in its place. */
const PASSES_ON: ReadonlySet<string> = new Set(['Append', 'Merge Append', 'Gather', 'Gather Merge']);

/** Finds the scans of archived rows in a plan: the answer to EXPLAIN (FORMAT JSON, VERBOSE). */
export function neededRows(explained: unknown): readonly NeededRows[] {
  return Explained.parse(explained).flatMap(({ Plan }) =>
    scansOf(Plan, { limit: undefined, areSummed: false }),
  );
}

/** A limit above a node counts its rows: in the order of a column, or in whatever order the node gives them. */
type Limit = { readonly order: 'asc' | 'desc'; readonly place: number } | { readonly order: 'its own' };

/** What reads the rows of a node. */
interface Reading {
  readonly limit: Limit | undefined;
  readonly areSummed: boolean;
}

function scansOf({ node, children }: Plan, reading: Reading): readonly NeededRows[] {
  const table = tableOfArchived(node['Relation Name'] ?? '');
  if (table !== undefined) return [scanOf(node, table, reading)];
  return children.flatMap((child) =>
    isApart(child)
      ? scansOf(child, { limit: undefined, areSummed: false })
      : scansOf(child, {
          limit: limitBelow(node, reading.limit),
          areSummed: areSummedBelow(node, reading.areSummed),
        }),
  );
}

/** A subquery that runs by itself: what is above it does not count its rows. */
const isApart = ({ node }: Plan) => ['InitPlan', 'SubPlan'].includes(node['Parent Relationship'] ?? '');

const SORTS: ReadonlySet<string> = new Set(['Sort', 'Incremental Sort']);

function limitBelow(node: Plan['node'], limit: Limit | undefined): Limit | undefined {
  const type = node['Node Type'];
  if (type === 'Limit') return { order: 'its own' };
  if (limit === undefined || PASSES_ON.has(type)) return limit;
  return SORTS.has(type) ? sortedBelow(node) : undefined;
}

const SUMS: ReadonlySet<string> = new Set(['Aggregate', 'Group']);

const COMPUTES: ReadonlySet<string> = new Set(['Result', 'Subquery Scan']);

/** Between the scan and the sum, nothing chooses from the rows. */
function areSummedBelow(node: Plan['node'], areSummed: boolean): boolean {
  const type = node['Node Type'];
  if (SUMS.has(type)) return true;
  const chooses = node.Filter !== undefined || node['One-Time Filter'] !== undefined;
  return areSummed && !chooses && (PASSES_ON.has(type) || SORTS.has(type) || COMPUTES.has(type));
}

/** Rows that are sorted by another column than their time may come from anywhere. */
function sortedBelow({ 'Sort Key': [key = ''] = [], Output }: Plan['node']): Limit | undefined {
  const [, column = '', descending] = /^(?<column>.*?)(?<descending> DESC)?$/.exec(key) ?? [];
  const place = Output.indexOf(column);
  if (place === -1 || !isTime(column)) return undefined;
  return { order: descending === undefined ? 'asc' : 'desc', place };
}

const isTime = (expression: string | undefined) => /^(?:\w+\.)?occurred_at$/.test(expression ?? '');

function scanOf(node: Plan['node'], table: string, { limit, areSummed }: Reading): NeededRows {
  const filters = [node.Filter, node['Index Cond'], node['Recheck Cond']].filter((one) => one !== undefined);
  const passedOn = wordsOf(node.Output);
  const columns = passedOn.union(wordsOf(filters));
  return {
    table,
    alias: node.Alias,
    filters,
    columns,
    passedOn,
    areSummed,
    order: limit && orderOf(node, limit),
  };
}

const wordsOf = (expressions: readonly string[]) =>
  new Set(Array.from(expressions.join(' ').matchAll(/\w+|(?<=\.)\*/g), ([word]) => word));

function orderOf(node: Plan['node'], limit: Limit): NeededRows['order'] {
  // A sort above several tables names the column of the first one.
  if (limit.order !== 'its own') return isTime(node.Output[limit.place]) ? limit.order : undefined;
  // The index of these tables begins with the time.
  if (!/^Index (?:Only )?Scan$/.test(node['Node Type'])) return undefined;
  return node['Scan Direction'] === 'Backward' ? 'desc' : 'asc';
}
