import { z } from 'zod';
import { tableOfArchived } from './archive-schema.ts';

/** What a statement needs of the archived rows of a table, as the plan of Postgres says. */
export interface NeededRows {
  readonly table: string;
  /** Rows that do not meet all of these are of no use. Each is an expression as Postgres prints it. */
  readonly filters: readonly string[];
  /** The columns that the statement reads, among other words; `*`: all. */
  readonly columns: ReadonlySet<string>;
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
  'Parent Relationship': z.string().optional(),
  Filter: z.string().optional(),
  'Index Cond': z.string().optional(),
  'Recheck Cond': z.string().optional(),
  'Join Filter': z.string().optional(),
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

/** The nodes that pass rows on, each of them and in their order or sorted. */
const PASSES_ON: ReadonlySet<string> = new Set([
  'Append',
  'Merge Append',
  'Sort',
  'Incremental Sort',
  'Subquery Scan',
  'Result',
  'Gather',
  'Gather Merge',
]);

/** Finds the scans of archived rows in a plan: the answer to EXPLAIN (FORMAT JSON, VERBOSE). */
export function neededRows(explained: unknown): readonly NeededRows[] {
  return Explained.parse(explained).flatMap(({ Plan }) => scansOf(Plan, undefined));
}

type Order = NeededRows['order'];

/** A limit above: in which order the rows are counted, if that is known. */
interface Limit {
  readonly order: Order;
}

function scansOf({ node, children }: Plan, above: Limit | undefined): readonly NeededRows[] {
  const table = tableOfArchived(node['Relation Name'] ?? '');
  if (table !== undefined) return [scanOf(node, table, above)];
  return children.flatMap((child) => scansOf(child, isApart(child) ? undefined : below(node, above)));
}

/** A subquery that runs by itself: what is above it does not count its rows. */
const isApart = ({ node }: Plan) => ['InitPlan', 'SubPlan'].includes(node['Parent Relationship'] ?? '');

function below(node: Plan['node'], above: Limit | undefined): Limit | undefined {
  if (node['Node Type'] === 'Limit') return { order: undefined };
  if (above === undefined || !PASSES_ON.has(node['Node Type']) || node.Filter !== undefined) return undefined;
  const [key] = node['Sort Key'] ?? [];
  return key === undefined ? above : { order: orderOf(key) };
}

const SORTED = /^(?:\w+\.)?"?occurred_at"?(?<descending> DESC)?$/;

function orderOf(key: string): Order {
  const found = SORTED.exec(key);
  if (found === null) return undefined;
  return found.groups?.['descending'] === undefined ? 'asc' : 'desc';
}

function scanOf(node: Plan['node'], table: string, above: Limit | undefined): NeededRows {
  const filters = [node.Filter, node['Index Cond'], node['Recheck Cond']].filter((one) => one !== undefined);
  const read = [...node.Output, ...filters].join(' ');
  const columns = new Set(Array.from(read.matchAll(/\w+|(?<=\.)\*/g), ([word]) => word));
  // The index of these tables begins with the time.
  const isInIndexOrder = above?.order === undefined && node['Node Type'].startsWith('Index');
  const order = isInIndexOrder ? (node['Scan Direction'] === 'Backward' ? 'desc' : 'asc') : above?.order;
  return { table, filters, columns, order: above === undefined ? undefined : order };
}
