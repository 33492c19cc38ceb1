import { pipeline } from 'node:stream/promises';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { copyOut } from '../server/postgres-copy.ts';
import { withClient } from '../server/postgres.ts';
import { ConflictError } from '../../lib/errors.ts';
import type { Db } from '../server/database.ts';
import { asOwner } from '../server/roles/roles.ts';
import { allRows, run } from '../server/statement.ts';

/** The result of moving one table: the numbers are those of both databases. */
export interface MovedTable {
  readonly table: string;
  readonly rows: number;
  /** Sum of the SHA-256 of all rows, as far as it fits. */
  readonly digest: string;
}

export interface MoveObserver {
  /** Estimated from the statistics of the tables. */
  onTotal(rows: number): void;
  onRow(): void;
}

/** Tables that the target has its own rows of, or that only make sense where they are: logins, processes, locks. */
const LEFT_BEHIND = ['kysely_migration', 'kysely_migration_lock', 'locks', 'processes', 'sessions'];

/** What triggers of the other tables fill: it is emptied after them, and copied last. */
const FILLED = 'log_queue';

/**
 * Copies every table of a database to another one with the same migrations, partitions and no rows, in a single
 * transaction: all or nothing. The login of the target can become the owner of its tables. Counts and digests of both sides are
 * compared before it commits. Nobody may store in either database meanwhile. Throws a ConflictError if the target has rows, and an Error if the two sides differ.
 *
 * Readers follow the events by the transaction that stored them, then by id. Transaction ids belong to a server: those of
 * the source could be higher than those that the target will assign, whose events no reader would find then. So all events
 * between the same two positions get one id of the target, in the same order; the positions move with them.
 */
export async function moveTables(
  sourceUrl: string,
  targetUrl: string,
  observer: MoveObserver,
  signal: AbortSignal,
): Promise<readonly MovedTable[]> {
  return withClient(sourceUrl, (source) =>
    withClient(targetUrl, async (target) => {
      const stop = () => source.connection.stream.destroy();
      signal.addEventListener('abort', stop, { once: true });
      try {
        signal.throwIfAborted();
        return await moveBetween(source, target, observer);
      } finally {
        signal.removeEventListener('abort', stop);
      }
    }),
  );
}

async function moveBetween(
  source: Client,
  target: Client,
  observer: MoveObserver,
): Promise<readonly MovedTable[]> {
  for (const client of [source, target]) client.on('error', () => undefined);
  await source.query('begin isolation level repeatable read read only');
  const tables = await listTables(source);
  observer.onTotal(tables.reduce((sum, { estimate }) => sum + estimate, 0));
  const positions = await readPositions(source, tables);
  const xids: string[] = [];
  // Each in its own transaction, one after the other: ascending, and before that of the move.
  for (let count = 0; count <= positions.length; count += 1) xids.push(await nextXid(target));
  await target.query('begin');
  try {
    await becomeOwner(target);
    await target.query('select begin_storing()');
    await refuseRows(target, tables);
    for (const { name } of tables.filter(({ keepsRows }) => !keepsRows).toReversed()) {
      const table = target.escapeIdentifier(name);
      await target.query(`delete from ${table}`);
    }
    const moved: MovedTable[] = [];
    for (const table of tables)
      moved.push(await moveTable(source, target, table, { positions, xids }, observer));
    await target.query('commit');
    return moved;
  } catch (error) {
    await target.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** The rows that the migrations have put into the seal's tables are replaced, which these tables allow nobody else. */
async function becomeOwner(target: Client): Promise<void> {
  await target.query(
    `select set_config('role', relowner::regrole::text, true) from pg_class
       where oid = 'deliveries'::regclass and pg_has_role(relowner, 'member')`,
  );
}

interface Table {
  readonly name: string;
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  readonly estimate: number;
  /** No row is ever deleted. The others may have rows from the migrations. */
  readonly keepsRows: boolean;
}

/** All tables, partitioned ones as a whole, those with foreign keys last. */
async function listTables(client: Client): Promise<readonly Table[]> {
  const { rows } = await client.query<Table>(
    `select relname as name,
       (select json_agg(json_build_object('name', attname, 'type', atttypid::regtype) order by attnum)
          from pg_attribute where attrelid = t.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
       (select coalesce(sum(greatest(reltuples, 0)), 0)::float8 from pg_class as part
          where part.oid = t.oid or part.oid in (select relid from pg_partition_tree(t.oid))) as estimate,
       exists (select from pg_trigger where tgrelid = t.oid and tgname = 'refuse_change') as "keepsRows"
     from pg_class as t
     where relkind in ('r', 'p') and not relispartition and relnamespace = 'public'::regnamespace
       and relname <> all ($1)
     order by relname = $2, exists (select from pg_constraint where conrelid = t.oid and contype = 'f'), relname`,
    [LEFT_BEHIND, FILLED],
  );
  return rows;
}

/** A column with a place in the order of the events: everything that earlier transactions stored is done. */
const isPosition = ({ name, type }: Table['columns'][number]) => type === 'xid8' && name !== 'xid';

/** The positions in all tables, in ascending order, each once. */
async function readPositions(client: Client, tables: readonly Table[]): Promise<readonly string[]> {
  const parts = tables.flatMap((table) =>
    table.columns.filter(isPosition).map(({ name }) => `select "${name}" as xid from "${table.name}"`),
  );
  const { rows } = await client.query<{ xid: string }>(
    `select xid::text from (${parts.join(' union ')}) as positions
     where positions.xid is not null order by positions.xid`,
  );
  return rows.map(({ xid }) => xid);
}

interface Mapping {
  readonly positions: readonly string[];
  /** One more than the positions: before the first, between two, after the last. */
  readonly xids: readonly string[];
}

/** The columns of a table in the source, as they shall be in the target. */
function selectedColumns(table: Table, { positions, xids }: Mapping): string {
  const expressions = table.columns.map(({ name, type }) => {
    // The ids are mapped to those of the target, so that all rows are of its first era.
    if (name === 'era' || name === 'counted_era') return `0 as "${name}"`;
    if (type !== 'xid8') return `"${name}"`;
    const passed = positions.map((position) => `(${position}::text::xid8 <= "${name}")::int`);
    return `(array[${xids.join()}]::text[])[${['1', ...passed].join(' + ')}]::xid8 as "${name}"`;
  });
  return expressions.join(', ');
}

async function moveTable(
  source: Client,
  target: Client,
  table: Table,
  mapping: Mapping,
  observer: MoveObserver,
): Promise<MovedTable> {
  const { name } = table;
  if (name === FILLED) await target.query(`delete from ${FILLED}`);
  const columns = table.columns.map((column) => `"${column.name}"`).join(', ');
  const selected = `select ${selectedColumns(table, mapping)} from "${name}"`;
  const data = copyOut(source, `copy (${selected}) to stdout`, { onMessage: () => observer.onRow() });
  await pipeline(data, target.query(copyFrom(`copy "${name}" (${columns}) from stdin`)));
  const [there, here] = await Promise.all([
    summarize(target, `select ${columns} from "${name}"`),
    summarize(source, selected),
  ]);
  if (there.rows !== here.rows || there.digest !== here.digest) {
    throw new Error(
      `the copy of ${name} has ${there.rows} rows with the digest ${there.digest}, ` +
        `and the original ${here.rows} with ${here.digest}`,
    );
  }
  return { table: name, rows: Number(here.rows), digest: here.digest };
}

/** Counts rows and adds up their hashes, in whatever order they are. */
async function summarize(client: Client, query: string): Promise<{ rows: string; digest: string }> {
  const { rows } = await client.query<{ rows: string; digest: string }>(
    `select count(*) as rows, coalesce(sum(
       ('x' || encode(substr(sha256(convert_to(moved::text, 'UTF8')), 1, 7), 'hex'))::bit(56)::bigint), 0) as digest
     from (${query}) as moved`,
  );
  const [row] = rows;
  if (row === undefined) throw new Error('the query for the digest of a table returned no row');
  return row;
}

async function nextXid(client: Client): Promise<string> {
  const { rows } = await client.query<{ xid: string }>('select pg_current_xact_id()::text as xid');
  return rows[0]?.xid ?? '';
}

/**
 * Nothing may be mixed with the rows of another installation: one that was ever used has deliveries, or actions of a person.
 */
async function refuseRows(target: Client, tables: readonly Table[]): Promise<void> {
  const { rows } = await target.query<{ host: string; pid: number }>(
    `select host, pid from processes where seen_at > clock_timestamp() - interval '30 seconds' limit 1`,
  );
  const [running] = rows;
  if (running !== undefined) {
    const { host, pid } = running;
    throw new ConflictError(
      'TARGET_IN_USE',
      `xiq-sink runs on the target (${host}, pid ${pid}). Stop it first.`,
    );
  }
  for (const { name } of tables.filter(({ keepsRows }) => keepsRows)) {
    const table = target.escapeIdentifier(name);
    const { rowCount } = await target.query(`select from ${table} limit 1`);
    if (rowCount === 0) continue;
    throw new ConflictError(
      'TARGET_NOT_EMPTY',
      `The target is not empty: ${name} has rows. Choose a new database. If an earlier move-to succeeded, set DATABASE_URL.`,
    );
  }
}

/** Throws a ConflictError if a target with tables is in use or was ever used. Nothing of it may be changed then. */
export async function refuseUsed(targetUrl: string): Promise<void> {
  await withClient(targetUrl, async (target) => refuseRows(target, await listTables(target)));
}

/** Lets the sequences of the target continue where those of the source are. */
export async function moveSequences(source: Db, target: Db): Promise<void> {
  const rows = await allRows<{ name: string; value: string }>(source)`
    select sequencename as name, last_value::text as value from pg_sequences
    where schemaname = 'public' and last_value is not null`;
  await asOwner(target, async (connection) => {
    for (const { name, value } of rows) {
      await run(connection)`select setval(${name}::regclass, ${value}::bigint)`;
    }
  });
}

/** The months that there are partitions of, each as its first instant. */
export async function readMonths(db: Db): Promise<readonly Date[]> {
  const rows = await allRows<{ month: string }>(db)`
    select distinct replace(right(relname, 7), '_', '-') as month from pg_class
    where relispartition and relkind = 'r' and relnamespace = 'public'::regnamespace and relname ~ '_[0-9]{4}_[0-9]{2}$'
    order by month`;
  return rows.map(({ month }) => new Date(`${month}-01T00:00:00Z`));
}
