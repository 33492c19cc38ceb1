import type { Db } from '../store/server/database.ts';
import { readTile } from '../store/seal/seal-log.ts';
import { nodesOfTiles, type ReadNode } from './merkle-tree.ts';

export const nodesIn = (db: Db): ReadNode => nodesOfTiles((level, number) => readTile(db, level, number));

/** Every leaf has so much salt. The salts of consecutive leaves lie one after another. */
export const SALT_BYTES = 16;

export const saltAt = (salts: Buffer, index: number) =>
  salts.subarray(index * SALT_BYTES, (index + 1) * SALT_BYTES);

/** The entry of a leaf: its salt, then the sealed form of its row, which is `null` for a row that is gone. */
export const entryAt = (salts: Buffer, index: number, record: string | null) =>
  Buffer.concat([saltAt(salts, index), Buffer.from(record ?? 'null')]);
