import type { ColumnType } from 'kysely';

/** The type of a column that Postgres gives a value if a statement does not. */
export type Generated<T> =
  T extends ColumnType<infer S, infer I, infer U>
    ? ColumnType<S, I | undefined, U>
    : ColumnType<T, T | undefined, T>;

/** `bigint`: read as text, so that no digit is lost. */
export type Int8 = ColumnType<string, string | number, string | number>;

/** `timestamptz`: written as a Date or in ISO 8601. */
export type Timestamp = ColumnType<Date, Date | string, Date | string>;

/** `jsonb`: written as JSON text. */
export type Json<T = unknown> = ColumnType<T, string, string>;
