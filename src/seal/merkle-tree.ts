import { hash } from 'node:crypto';

export const HASH_BYTES = 32;

/** A tile has 256 hashes of one level; the next level of tiles has a hash for each full tile (C2SP tlog-tiles). */
const TILE_LEVELS = 8;
export const TILE_WIDTH = 2 ** TILE_LEVELS;

/** The hash of an inner node from those of its children (RFC 6962, section 2.1). */
function nodeHash(left: Buffer, right: Buffer): Buffer {
  return hash('sha256', Buffer.concat([NODE_PREFIX, left, right]), 'buffer');
}

/** The hash of an entry of the tree (RFC 6962, section 2.1). */
export function leafHash(entry: Buffer): Buffer {
  return hash('sha256', Buffer.concat([LEAF_PREFIX, entry]), 'buffer');
}

const LEAF_PREFIX = Buffer.of(0);
const NODE_PREFIX = Buffer.of(1);

export const EMPTY_ROOT = hash('sha256', Buffer.alloc(0), 'buffer');

/** The root of a full subtree: level 0 has the leaves, and `index` counts the subtrees of the level from the left. */
export type ReadNode = (level: number, index: number) => Promise<Buffer>;

/**
 * The right edge of a growing tree, which it takes to add leaves and to compute the root. The tree is empty, or has these
 * roots of full subtrees, largest first, as `readFrontier` reads. `onNode` receives the roots of full subtrees at the levels of
 * tiles: the leaves, then each 256 of them, and so on.
 */
export function createFrontier(
  onNode: (tileLevel: number, index: number, node: Buffer) => void,
  size = 0,
  nodes: readonly Buffer[] = [],
) {
  const stack = [...nodes];
  let count = size;
  return {
    size: () => count,
    append(leaf: Buffer) {
      let node = leaf;
      onNode(0, count, leaf);
      count += 1;
      for (let level = 1, width = 2; count % width === 0; level += 1, width *= 2) {
        const left = stack.pop();
        if (left === undefined) throw new TypeError(`the tree's edge at ${count} leaves is incomplete`);
        node = nodeHash(left, node);
        if (level % TILE_LEVELS === 0) onNode(level / TILE_LEVELS, count / width - 1, node);
      }
      stack.push(node);
    },
    root() {
      const [last = EMPTY_ROOT, ...others] = stack.toReversed();
      return others.reduce((right, left) => nodeHash(left, right), last);
    },
  };
}

/** Reads the roots of the full subtrees that a tree of a size consists of, largest first. */
export async function readFrontier(read: ReadNode, size: number): Promise<readonly Buffer[]> {
  const nodes: Buffer[] = [];
  let from = 0;
  while (from < size) {
    const width = largestPower(size - from + 1);
    nodes.push(await read(Math.log2(width), from / width));
    from += width;
  }
  return nodes;
}

/** The root of the tree of its first `size` leaves. */
export async function rootAt(read: ReadNode, size: number): Promise<Buffer> {
  return size === 0 ? EMPTY_ROOT : subtree(read, 0, size);
}

/** The path from a leaf to the root of the tree of a size (RFC 6962, section 2.1.1). */
export async function inclusionProof(read: ReadNode, index: number, size: number): Promise<Buffer[]> {
  return pathTo(read, index, 0, size);
}

async function pathTo(read: ReadNode, index: number, from: number, to: number): Promise<Buffer[]> {
  if (to - from === 1) return [];
  const middle = from + largestPower(to - from);
  return index < middle
    ? [...(await pathTo(read, index, from, middle)), await subtree(read, middle, to)]
    : [...(await pathTo(read, index, middle, to)), await subtree(read, from, middle)];
}

/** Proves that a tree of `earlier` leaves is the beginning of one of `later` (RFC 6962, section 2.1.2). */
export async function consistencyProof(read: ReadNode, earlier: number, later: number): Promise<Buffer[]> {
  return earlier === 0 ? [] : partsOf(read, earlier, 0, later);
}

async function partsOf(read: ReadNode, end: number, from: number, to: number): Promise<Buffer[]> {
  // The whole earlier tree is known to the verifier.
  if (end === to) return from === 0 ? [] : [await subtree(read, from, to)];
  const middle = from + largestPower(to - from);
  return end <= middle
    ? [...(await partsOf(read, end, from, middle)), await subtree(read, middle, to)]
    : [...(await partsOf(read, end, middle, to)), await subtree(read, from, middle)];
}

/** The root over leaves from `from`, where a full subtree begins, up to and without `to`. */
async function subtree(read: ReadNode, from: number, to: number): Promise<Buffer> {
  const count = to - from;
  const level = Math.log2(count);
  if (Number.isInteger(level)) return read(level, from / count);
  const middle = from + largestPower(count);
  return nodeHash(await subtree(read, from, middle), await subtree(read, middle, to));
}

function largestPower(count: number): number {
  let power = 1;
  while (power * 2 < count) power *= 2;
  return power;
}

/** The root of a path's tree, as a verifier computes it (RFC 9162, section 2.1.3.2). Undefined: no tree has such a path. */
export const rootOfPath = (leaf: Buffer, index: number, size: number, path: readonly Buffer[]) =>
  climb(leaf, index, size - 1, path)?.whole;

/**
 * The roots of the two trees that a proof of consistency is of (RFC 9162, section 2.1.4.2). If only `later` is right, that tree
 * begins with another one. A proof from a power of two relies on `earlierRoot`. Undefined: it is none of such trees.
 */
export function rootsOfConsistency(
  earlier: number,
  earlierRoot: Buffer,
  later: number,
  proof: readonly Buffer[],
): { readonly earlier: Buffer; readonly later: Buffer } | undefined {
  let [at, last] = [earlier - 1, later - 1];
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  const [node, ...path] = at === 0 ? [earlierRoot, ...proof] : proof;
  const roots = node && climb(node, at, last, path);
  return roots && { earlier: roots.left, later: roots.whole };
}

/** From a node up to the root of the whole tree, and to that of the leaves up to the last one of the node. */
function climb(node: Buffer, index: number, lastIndex: number, path: readonly Buffer[]) {
  let [at, last, whole, left] = [index, lastIndex, node, node];
  for (const sibling of path) {
    if (last === 0) return undefined;
    if (at % 2 === 1 || at === last) {
      [whole, left] = [nodeHash(sibling, whole), nodeHash(sibling, left)];
      while (at % 2 === 0 && at !== 0) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
    } else {
      whole = nodeHash(whole, sibling);
    }
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? { whole, left } : undefined;
}

/** Reads nodes from tiles: a tile has the hashes of its level one after another; each is read once. */
export function nodesOfTiles(readTile: (tileLevel: number, number: number) => Promise<Buffer>): ReadNode {
  const tiles = new Map<string, Promise<Buffer>>();
  const tile = (level: number, number: number) => {
    const key = `${level}/${number}`;
    const read = tiles.get(key) ?? readTile(level, number);
    tiles.set(key, read);
    return read;
  };
  return async (level, index) => {
    const tileLevel = Math.floor(level / TILE_LEVELS);
    const width = 2 ** (level % TILE_LEVELS);
    const start = (index * width) % TILE_WIDTH;
    const bytes = await tile(tileLevel, Math.floor((index * width) / TILE_WIDTH));
    if (bytes.length < (start + width) * HASH_BYTES) {
      throw new RangeError(`the log's tree has no node ${index} at level ${level}: its tiles are damaged`);
    }
    const hashes = Array.from({ length: width }, (_, at) => hashAt(bytes, start + at));
    return fold(hashes);
  };
}

export const hashAt = (tile: Buffer, index: number) =>
  tile.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);

/** The root of the hashes of a full tile. */
export const tileRoot = (tile: Buffer) =>
  fold(Array.from({ length: TILE_WIDTH }, (_, index) => hashAt(tile, index)));

function fold(hashes: readonly Buffer[]): Buffer {
  const [first, second] = hashes;
  if (first === undefined) return EMPTY_ROOT;
  if (second === undefined) return first;
  const middle = hashes.length / 2;
  return nodeHash(fold(hashes.slice(0, middle)), fold(hashes.slice(middle)));
}
