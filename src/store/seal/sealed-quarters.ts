import { sql } from 'kysely';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import type { Db, Trx } from '../server/database.ts';
import { inScope, isSource, type Scope } from '../server/scope.ts';
import { allRows, onlyRow } from '../server/statement.ts';
import { readingSealed } from './sealed-rows.ts';
import type { StatedDifference, Statement } from './statements.ts';

/*
 * What is known of quarters of an hour. Each state that a row of `coverage` had since it was judged is in a statement of its
 * own, together with those of up to 255 other quarters. A pending quarter claims nothing, and is not sealed.
 */

/** Version of the list of columns below. Version 1 has no reason, as all quarters had none. */
const QUARTERS_VERSION = 2;

const COLUMNS = sql`row.source, row.message_type, row.quarter, row.state, row.healed, row.matched, row.only_webhook,
  row.compared_at, row.agreed_at`;
const STATE = sql`case when row.reason is null then json_build_array(${COLUMNS})
  else json_build_array(${COLUMNS}, row.reason) end`;

/** The key of a row in the queue, as its triggers make it. */
const QUEUED_AS = sql`json_build_array(source, message_type, extract(epoch from quarter)::bigint)::text`;

/** The states that statements have, each with its leaf. */
const STATED = sql`
  select state ->> 0 as source, state ->> 1 as message_type, (state ->> 2)::timestamptz as quarter, state::text as record, leaf
  from log_statements, json_array_elements(record::json -> 3) as state where kind = 'quarters'`;

/** Quarters that are sealed together. */
const QUARTERS_OF_TILE = 256;

/** Takes up to `limit` quarters off the queue, and joins their states to statements. Call `printAsSealed` before. */
export async function takeQuarters(trx: Trx, limit: number): Promise<readonly Statement[]> {
  return allRows<Statement>(trx)`
    with taken as materialized (
      delete from log_queue where id in (select id from log_queue where kind = 'quarter' order by id limit ${limit})
      returning id, key
    ), placed as (
      select id, state, (row_number() over (order by id) - 1) / ${QUARTERS_OF_TILE} as tile
      from (
        select max(id) as id, key::json ->> 0 as source, key::json ->> 1 as message_type,
          to_timestamp((key::json ->> 2)::bigint) as quarter
        from taken group by key
      ) as one, lateral (
        select ${STATE} as state from coverage as row
        where row.source = one.source and row.message_type = one.message_type and row.quarter = one.quarter
          and row.state <> 'pending'
      ) as found)
    select 'quarters' as kind, min(id)::text as key,
      json_build_array('quarters'::text, ${sql.lit(QUARTERS_VERSION)}::int, min(id), json_agg(state order by id))::text
        as record
    from placed group by tile order by tile`;
}

/** A quarter that is not what was sealed of it last. */
export interface DifferentQuarter extends Omit<StatedDifference, 'key'> {
  readonly source: string;
  readonly messageType: string;
  readonly quarter: Date;
}

/**
 * Finds quarters that differ from their last statements, without those whose new state is not sealed yet. Call
 * `printAsSealed` before.
 */
export async function findQuarterDifferences(trx: Trx): Promise<readonly DifferentQuarter[]> {
  return allRows<DifferentQuarter>(trx)`
    select source, message_type as "messageType", quarter, leaf::float8, found.record is null as "isGone"
    from (
      select distinct on (source, message_type, quarter) * from (${STATED}) as stated
      order by source, message_type, quarter, leaf desc
    ) as stated
    full join (
      select source, message_type, quarter, state, ${STATE}::text as record from coverage as row
    ) as found using (source, message_type, quarter)
    where found.record is distinct from stated.record and (leaf is not null or state <> 'pending')
      and (found.record is null
        or not exists (select from log_queue where kind = 'quarter' and key = ${QUEUED_AS}))
    order by source, message_type, quarter`;
}

/**
 * Counts the proven quarters of a range whose present state was sealed within a day of its comparison, and that within a month
 * of the range: later statements say nothing about the time before them. The cost grows with the range.
 */
export async function countQuartersSealedInTime(
  db: Db,
  scope: Scope,
  range: WholeRange & { readonly source?: string | undefined },
): Promise<number> {
  const { since, until, source } = range;
  const { quarters } = await readingSealed(
    db,
    (trx) => onlyRow<{ quarters: number }>(trx)`
      with stated as materialized (
        select * from (${STATED}) as stated
        where quarter >= ${since} and quarter < ${until} and ${inScope(scope)} and ${isSource(source)}
          and leaf >= coalesce((select max(size) from log_checkpoints where made_at < ${since}), 0)
          and leaf < all (select min(size) from log_checkpoints
            where made_at > ${until}::timestamptz + interval '32 days' having count(*) > 0)
      )
      select count(*)::float8 as quarters
      from stated join coverage as row using (source, message_type, quarter), lateral (
        select max(made_at) as signed_before from log_checkpoints
        where size = (select max(size) from log_checkpoints where size <= leaf)
      ) as earlier
      where ${STATE}::text = stated.record and row.state <> 'not comparable'
        and coalesce(signed_before <= compared_at + interval '1 day', true)`,
  );
  return quarters;
}
