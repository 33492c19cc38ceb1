import path from 'node:path';
import { z } from 'zod';
import { HASH_BYTES, TILE_WIDTH } from './merkle-tree.ts';

/**
 * The files of an exported proof. Its tiles have the paths of C2SP tlog-tiles. The manifest says what there must be; a note
 * that the key of the log signs has its hash, so that nobody else can leave something out.
 */
export const MANIFEST = 'manifest.json';
export const MANIFEST_NOTE = 'manifest.note';
export const ROWS = 'rows.txt';
/** Why rows are not there: a line of each, with the leaf, the state and the reason. */
export const ABSENT = 'absent.txt';
export const CHECKPOINTS = 'checkpoints.txt';
export const stampPaths = (size: number) => ({
  note: `time-stamps/${size}.txt`,
  answer: `time-stamps/${size}.tsr`,
});

const count = z.int().nonnegative();

const manifestSchema = z.strictObject({
  format: z.literal('xiq-sink-proof/2'),
  origin: z.string(),
  public_keys: z.array(z.string()).min(1),
  /** The times of arrival that were asked for. Neither: the whole log. */
  range: z.strictObject({ since: z.iso.datetime().nullable(), until: z.iso.datetime().nullable() }),
  /** Leaves of the tree, up to the last checkpoint or time-stamp. */
  size: count,
  /** The leaves that there are rows of: from the first one up to, and without, the last. */
  leaves: z.array(z.tuple([count, count])),
  /** All other files without the tiles. */
  files: z.array(
    z.strictObject({
      path: z.string().regex(/^(?:[\w-]+\/)?[\w-]+\.\w+$/),
      bytes: count,
      sha256: z.string(),
    }),
  ),
});

export type Manifest = z.output<typeof manifestSchema>;
export type ManifestFile = Manifest['files'][number];

/** Writes a manifest. There is one text for each. */
export const writeManifest = (manifest: Manifest) => `${JSON.stringify(manifest, null, 2)}\n`;

/** Reads a manifest. Throws a TypeError unless it is as `writeManifest` writes it. */
export function parseManifest(text: string): Manifest {
  try {
    const manifest = manifestSchema.parse(JSON.parse(text));
    if (writeManifest(manifest) === text) return manifest;
  } catch (error) {
    throw new TypeError('it is not the manifest of an exported proof', { cause: error });
  }
  throw new TypeError('it was changed after it was written');
}

/** Hashes that a level of tiles has in a tree. */
export const hashesAt = (level: number, size: number) => Math.floor(size / TILE_WIDTH ** level);

/** Hashes of one tile in a tree. */
const tileWidth = (level: number, number: number, size: number) =>
  Math.min(TILE_WIDTH, hashesAt(level, size) - number * TILE_WIDTH);

/** The path of a tile in a tree of a size: `tile/0/x001/234`, or `tile/0/x001/234.p/56` if it is not full. */
export function tilePath(level: number, number: number, size: number): string {
  const digits = String(number);
  const parts = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g) ?? [];
  const name = parts.map((part, index) => (index < parts.length - 1 ? `x${part}` : part)).join('/');
  const width = tileWidth(level, number, size);
  return path.posix.join('tile', String(level), name + (width < TILE_WIDTH ? `.p/${width}` : ''));
}

/** The tiles above the leaves of a tree. */
export function* upperTiles(size: number): Generator<readonly [level: number, number: number]> {
  for (let level = 1; hashesAt(level, size) > 0; level += 1) {
    for (let number = 0; number * TILE_WIDTH < hashesAt(level, size); number += 1) yield [level, number];
  }
}

/** The tiles of leaves that have leaves of these ranges, or at whose end a tree of one of these sizes ends. */
export function* leafTiles(leaves: Manifest['leaves'], sizes: Iterable<number>): Generator<number> {
  let last = -1;
  const isInRange = (number: number) =>
    leaves.some(([from, to]) => from < (number + 1) * TILE_WIDTH && to > number * TILE_WIDTH);
  for (const [from, to] of leaves) {
    for (let number = Math.floor(from / TILE_WIDTH); number * TILE_WIDTH < to; number += 1) {
      if (number > last) yield number;
      last = Math.max(last, number);
    }
  }
  const edges = new Set(
    [...sizes].filter((size) => size % TILE_WIDTH !== 0).map((size) => Math.floor(size / TILE_WIDTH)),
  );
  for (const number of edges) if (!isInRange(number)) yield number;
}

/** The number of tiles of an export, without those at the ends of its trees. */
export function countTiles({ size, leaves }: Manifest): number {
  let tiles = leaves.reduce((sum, [from, to]) => sum + Math.max(0, to - from) / TILE_WIDTH, 0);
  for (let level = 1; hashesAt(level, size) > 0; level += 1) tiles += hashesAt(level, size) / TILE_WIDTH;
  return Math.ceil(tiles);
}

export const tileBytes = (level: number, number: number, size: number) =>
  tileWidth(level, number, size) * HASH_BYTES;
