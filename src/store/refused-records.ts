import { arrayLiteral } from './insert-rows.ts';
import type { Db } from './database.ts';
import { allRows, run } from './statement.ts';

/** What identifies records that are not stored again. */
export type RefusedKind = 'user' | 'mac' | 'phone' | 'event';

/** Records to refuse. */
export interface RefusedRecord {
  readonly kind: RefusedKind;
  /** How many words a name has; 1 of all others. */
  readonly words: number;
  /** Which key the digest was made with. */
  readonly keyId: string;
  readonly digest: Buffer;
}

/** Records to refuse, and the time before which they occurred. */
export interface StoredRefusal extends RefusedRecord {
  readonly until: Date;
}

/** Reads which records are refused. */
export async function readRefused(db: Db): Promise<readonly StoredRefusal[]> {
  return allRows<StoredRefusal>(db)`
    select kind, words, key_id as "keyId", digest, until from refused_records order by id`;
}

/** Refuses records of what has occurred until now. */
export async function addRefused(db: Db, records: readonly RefusedRecord[]): Promise<void> {
  await run(db)`
    insert into refused_records (kind, words, key_id, digest)
    select kind, words, key_id, decode(digest, 'hex') from unnest(
      ${arrayLiteral(records.map(({ kind }) => kind))}::text[], ${arrayLiteral(records.map(({ words }) => words))}::int[],
      ${arrayLiteral(records.map(({ keyId }) => keyId))}::text[],
      ${arrayLiteral(records.map(({ digest }) => digest.toString('hex')))}::text[]) as one (kind, words, key_id, digest)`;
}
