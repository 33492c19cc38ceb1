import { sql, type RawBuilder } from 'kysely';
import type { Db, Trx } from '../server/database.ts';
import type { StatementKind, TileKind } from '../server/schema/seal-tables.ts';
import { allRows, firstRow, run } from '../server/statement.ts';

/** Version of the lists of columns below. Another list gets another version, and this one remains readable. */
export const STATEMENT_VERSION = 1;

interface StatedTable {
  readonly table: string;
  readonly key: string;
  /** Columns that never change, those that keep their value once they have one, and those that may change. */
  readonly lasting: readonly string[];
  readonly once: readonly string[];
  readonly changing: readonly string[];
}

const words = (text: string) => text.split(' ');

const TABLES: Readonly<Record<StatementKind, StatedTable>> = {
  operation: {
    table: 'operator_log',
    key: 'id',
    lasting: ['id', 'began_at', 'operator', 'via', 'action', 'subject', 'details'],
    once: ['outcome', 'ended_at', 'result'],
    changing: [],
  },
  'quarantined item': {
    table: 'quarantine',
    key: 'quarantine_id',
    lasting: words(
      'quarantine_id delivery_id received_at source message_type sent_type reason encoding twins_before',
    ),
    once: ['resolution', 'resolved_at', 'replay_delivery_id', 'discarded_bytes'],
    changing: ['content'],
  },
  gap: {
    table: 'gaps',
    key: 'id',
    lasting: ['id', 'source', 'message_type', 'began_at', 'reason', 'recorded_at'],
    once: [],
    changing: ['ended_at', 'detail'],
  },
  'archived file': {
    table: 'archived_files',
    key: 'id',
    lasting: words(
      `id path family_table source message_type first_at last_at first_received_at last_received_at row_count bytes sha256 table_bytes written_at`,
    ),
    once: ['archived_at', 'removed_at', 'removed_because'],
    changing: [],
  },
  erasure: {
    table: 'erasures',
    key: 'id',
    lasting: words('id erased_at operator reason event_count item_count operation_count leaves deliveries'),
    once: [],
    changing: [],
  },
};

/** Of content, only the hash. */
const valueOf = (column: string): RawBuilder<unknown> =>
  column === 'content' ? sql`encode(sha256(row.content), 'hex')` : sql.ref(`row.${column}`);

/** The state of a row: a JSON array of the kind, the version and the columns. */
const stateOf = (kind: StatementKind): RawBuilder<string> => {
  const { lasting, once, changing } = TABLES[kind];
  return sql<string>`json_build_array(${sql.lit(kind)}::text, ${sql.lit(STATEMENT_VERSION)}::int, ${sql.join(
    [...lasting, ...once, ...changing].map(valueOf),
  )})::text`;
};

interface KeyedState {
  readonly key: string;
  readonly record: string;
}

/** What is to be sealed: the state of a row, or a tile of deliveries or quarters. */
export interface Statement extends KeyedState {
  readonly kind: StatementKind | TileKind;
}

/**
 * Takes up to `limit` rows off the queue of those that changed, and returns their states, unless they are sealed already.
 * Call `planByKeys` before.
 */
export async function takeStatements(trx: Trx, limit: number): Promise<readonly Statement[]> {
  const rows = await allRows<{ kind: StatementKind; keys: string[] }>(trx)`
    with taken as (
      delete from log_queue where id in (select id from log_queue where kind <> 'quarter' order by id limit ${limit})
      returning kind, key)
    select kind, array_agg(distinct key) as keys from taken group by kind order by kind`;
  const statements: Statement[] = [];
  for (const { kind, keys } of rows) {
    const { table, key } = TABLES[kind];
    const states = await allRows<KeyedState>(trx)`
      select key, record from (
        select ${sql.ref(`row.${key}`)}::text as key, ${stateOf(kind)} as record from ${sql.table(table)} as row
        where ${sql.ref(`row.${key}`)}::text = any(${keys})
      ) as stated
      where record is distinct from (
        select record from log_statements
        where kind = ${kind} and log_statements.key = stated.key order by leaf desc limit 1)
      order by key`;
    statements.push(...states.map((state) => ({ kind, ...state })));
  }
  return statements;
}

/** Stores sealed statements, whose leaves follow one another. */
export async function addStatements(trx: Trx, firstLeaf: number, statements: readonly Statement[]) {
  await run(trx)`
    insert into log_statements (leaf, kind, key, record)
    select ${firstLeaf}::bigint + number - 1, kind, key, record
    from unnest(${statements.map(({ kind }) => kind)}::text[], ${statements.map(({ key }) => key)}::text[],
      ${statements.map(({ record }) => record)}::text[]) with ordinality as one (kind, key, record, number)`;
}

export type SealedStatement = Awaited<ReturnType<typeof readStatements>>[number];

/** Reads the sealed statements with leaves from one up to, and without, another. */
export async function readStatements(db: Db, from: number, to: number) {
  return db
    .selectFrom('log_statements')
    .select((eb) => [eb.cast<number>('leaf', 'float8').as('leaf'), 'kind', 'key', 'record'])
    .where('leaf', '>=', String(from))
    .where('leaf', '<', String(to))
    .orderBy('log_statements.leaf')
    .execute();
}

/** A row that is not what its last statement says. */
export interface StatedDifference {
  readonly key: string;
  /** Leaf of the last statement; null if there is none. */
  readonly leaf: number | null;
  readonly isGone: boolean;
}

/**
 * Finds rows that differ from their last statements, without those whose new state is not sealed yet. Call
 * `planByKeys` before.
 */
export async function findStatedDifferences(trx: Trx, kind: StatementKind) {
  const { table, key } = TABLES[kind];
  return allRows<StatedDifference>(trx)`
    select key, leaf::float8, found.record is null as "isGone"
    from (
      select distinct on (key) key, leaf, record from log_statements where kind = ${kind} order by key, leaf desc
    ) as stated
    full join (
      select ${sql.ref(`row.${key}`)}::text as key, ${stateOf(kind)} as record from ${sql.table(table)} as row
    ) as found using (key)
    where found.record is distinct from stated.record
      and (found.record is null
        or not exists (select from log_queue where log_queue.kind = ${kind} and log_queue.key = key))
    order by leaf`;
}

/**
 * Finds statements that say what this program never does: another value of a column that keeps its value, an earlier end of a
 * gap, or content that was replaced by other content than none. What a row says that waits to be sealed counts as well, so that
 * it cannot hide in the queue. Call `planByKeys` before.
 */
export async function findForbiddenChanges(db: Db, kind: StatementKind) {
  const { table, key, lasting, once, changing } = TABLES[kind];
  // Before the columns, a state has its kind and version.
  const firstOnce = lasting.length + 2;
  const firstChanging = firstOnce + once.length;
  const placeOf = (column: string) =>
    changing.includes(column) ? firstChanging + changing.indexOf(column) : -1;
  return allRows<StatedDifference>(db)`
    select key, leaf::float8, false as "isGone" from (
      select key, leaf, record::jsonb as record, lag(record::jsonb) over (partition by key order by leaf) as earlier
      from (
        select key, leaf, record from log_statements where kind = ${kind}
        union all
        select key, null, record from (select ${sql.ref(`row.${key}`)}::text as key, ${stateOf(kind)} as record from ${sql.table(table)} as row) as present
        where key in (select log_queue.key from log_queue where kind = ${kind})
      ) as states
    ) as stated, generate_series(0, ${firstChanging + changing.length - 1}::int) as place
    where earlier is not null and record -> place <> earlier -> place
      and (place < ${firstOnce}::int
        or place < ${firstChanging}::int and earlier ->> place is not null
        or case when place = ${placeOf('ended_at')}::int then (record ->> place)::timestamptz < (earlier ->> place)::timestamptz end
        or place = ${placeOf('content')}::int and record ->> place <> encode(sha256(''), 'hex'))
    group by key, leaf order by leaf`;
}

/** Finds statements whose leaf is in no tree: nothing seals what they say. */
export async function findStrayStatements(db: Db) {
  return db
    .selectFrom('log_statements')
    .select((eb) => ['kind', 'key', eb.cast<number>('leaf', 'float8').as('leaf')])
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('log_seals')
            .where('first_position', 'is', null)
            .whereRef('first_leaf', '<=', 'log_statements.leaf')
            .where(sql<boolean>`log_statements.leaf < first_leaf + leaves`),
        ),
      ),
    )
    .orderBy('log_statements.leaf')
    .execute();
}

/** Counts the rows whose state is not sealed yet. */
export async function countQueuedStatements(db: Db): Promise<number> {
  const row = await firstRow<{ waiting: number }>(db)`
    select count(distinct (kind, key))::float8 as waiting from log_queue`;
  return row?.waiting ?? 0;
}
