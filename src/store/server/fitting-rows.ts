import { sql, type RawBuilder } from 'kysely';

/**
 * What is read at once of payloads, and a row more. Only the database knows how long one is, and says how long it is kept:
 * compressed ones count 32 times. 2 MiB of one letter are 8 to 24 KB there, and 1,000 rows of that would be 2 GB here.
 */
const MAX_BYTES = 2 * 1024 * 1024;

/** How long a payload may be, without reading it where it is kept apart from its row. */
export const payloadBytes = (payload = sql`payload`) => sql`pg_column_size(${payload})
  * case when pg_column_compression(${payload}) is null then 1 else 32 end`;

/** Whether what comes before a row, in the order `ordered`, is so short that the row can be read, too. */
export const bytesBefore = (bytes: RawBuilder<unknown>, ordered: RawBuilder<unknown>) =>
  sql`coalesce(sum(${bytes}) over (${ordered} rows between unbounded preceding and 1 preceding), 0)`;

export const FITS = sql`bytes_before < ${sql.lit(MAX_BYTES)}`;

/**
 * The first rows of `from`, in this order, whose payloads together are not too long to be read at once. `next` is the
 * position of the row after each: of the last one, that of the first row left out, null if there is none.
 */
export const fittingRows = (
  from: RawBuilder<unknown>,
  ordered: RawBuilder<unknown>,
  position: RawBuilder<unknown> = sql`-1`,
) => sql`(
  select *, ${bytesBefore(payloadBytes(), ordered)} as bytes_before, lead(${position}::float8) over (${ordered}) as next
  from ${from}) as fitting where ${FITS} ${ordered}`;
