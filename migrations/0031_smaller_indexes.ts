import type { Kysely } from 'kysely';
import { FAMILIES } from '../src/events/domain.ts';
import { TABLE_OF } from '../src/events/message-types.ts';
import { buildIfEmpty } from '../src/store/server/schema/build-indexes.ts';

/** They find the same rows by the new indexes. */
export const olderProgramsMayRun = true;

/*
 * By the transaction alone, the rows of one share an entry: 6 bytes each instead of 30. Names are looked up as they are
 * compared (`fold_name`), so that the index on how they are written served no statement.
 */
export const indexes = [
  ...FAMILIES.map((family) => ({
    table: TABLE_OF[family],
    suffix: 'transaction',
    definition: 'btree (xid)',
    replaces: 'xid',
  })),
  {
    table: 'audit_events',
    suffix: 'user_name_folded',
    definition: 'btree (fold_name(user_name) text_pattern_ops, occurred_at)',
    replaces: 'user_name',
  },
  {
    table: 'log_entries',
    suffix: 'username_folded',
    definition: 'btree (fold_name(username) text_pattern_ops, occurred_at)',
    replaces: 'username',
  },
];

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const index of indexes) await buildIfEmpty(db, index);
}
