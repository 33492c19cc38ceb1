import { setImmediate as nextTurn } from 'node:timers/promises';
import { timestampsBetween, type StoredTimestamp } from '../../store/seal/anchors.ts';
import type { Db } from '../../store/server/database.ts';
import { checkpointsAfter, readTile, type StoredCheckpoint } from '../../store/seal/seal-log.ts';
import { parseCheckpoints, type Checkpoint } from '../checkpoint.ts';
import { findCosignature } from '../cosignature.ts';
import type { Report } from './finding.ts';
import { createFrontier, hashAt, HASH_BYTES, TILE_WIDTH } from '../merkle-tree.ts';
import { isSignedBy, parseVerifier } from '../signed-note.ts';
import { isForeign, type Trust } from '../trust.ts';
import { timeOfAnswer } from '../time-stamp.ts';

/** What a comparison with the tree shows. */
export type TreeResult = Awaited<ReturnType<ReturnType<typeof createTreeCheck>['end']>>;

/** The largest tree that a witness has signed, and when. No time: it has signed none. */
interface Witnessed {
  readonly name: string;
  readonly size: number;
  readonly time?: Date;
}

/** What the tree is compared with, besides what the database has. */
export interface Outside {
  readonly anchors: readonly Checkpoint[];
  readonly trust: Trust;
}

/** Starts to compute a tree from its leaves, and to compare it with the stored tiles, the checkpoints and what lies outside. */
export function createTreeCheck(
  db: Db,
  /** The leaves of the tree, and those of the latest checkpoint, as one snapshot has them. */
  { size, lastSigned }: { readonly size: number; readonly lastSigned: number },
  outside: Outside,
  report: Report,
) {
  const { witnesses, seen } = outside.trust;
  const nodes: { readonly level: number; readonly index: number; readonly node: Buffer }[] = [];
  const frontier = createFrontier((level, index, node) => {
    if (level > 0) nodes.push({ level, index, node });
  });
  const readNode = storedNodes(db);
  const heads = headsBySize(db, lastSigned, outside, report);
  let head: Head | undefined;
  const agreed = { checkpoint: 0, 'seen checkpoint': 0, 'time-stamp': 0, anchor: 0 };
  const signedWith: { publicKey: string; since: Date | undefined }[] = [];
  const witnessed = new Map<string, Witnessed>(witnesses.map(({ name }) => [name, { name, size: 0 }]));
  let signedSize = 0;
  let [agreedSize, anchoredSize, differs] = [0, 0, false];
  let sealedSince: Date | undefined;

  /** Passes the heads of trees up to a size on, one after the other. */
  async function takeHeads(upTo: number, take: (head: Head) => void): Promise<void> {
    for (;;) {
      head ??= (await heads.next()).value;
      if (head === undefined || head.checkpoint.size > upTo) return;
      take(head);
      head = undefined;
    }
  }

  function compare({ checkpoint, subject, publicKey }: Head): void {
    if (frontier.root().equals(checkpoint.root)) {
      agreed[subject] += 1;
      agreedSize = checkpoint.size;
      if (subject === 'checkpoint') {
        signedSize = checkpoint.size;
        for (const witness of witnesses) {
          const found = findCosignature(checkpoint.note, witness);
          if (found)
            witnessed.set(witness.name, { name: witness.name, size: checkpoint.size, time: found.time });
        }
      }
      if (publicKey !== undefined && signedWith.at(-1)?.publicKey !== publicKey) {
        signedWith.push({ publicKey, since: checkpoint.time });
      }
      if (subject === 'anchor') anchoredSize = checkpoint.size;
      sealedSince ??= checkpoint.time;
      return;
    }
    // All later checkpoints differ, too: they contain the same leaves.
    if (differs && subject === 'checkpoint') return;
    differs = true;
    const detail = `the leaves differ from the ${subject}${timeOf(checkpoint)}`;
    report({ state: 'ALTERED', subject, detail, leaves: [agreedSize, checkpoint.size] });
  }

  async function compareTiles(): Promise<void> {
    for (const { level, index, node } of nodes.splice(0)) {
      if (node.equals(await readNode(level, index))) continue;
      const width = TILE_WIDTH ** level;
      const detail = `the leaves differ from the tree's tiles of level ${level}`;
      report({ state: 'ALTERED', subject: 'leaves', detail, leaves: [index * width, (index + 1) * width] });
    }
  }

  return {
    /** Adds the hashes of the next leaves. */
    async append(leaves: Buffer): Promise<void> {
      for (let index = 0; index < leaves.length / HASH_BYTES; index += 1) {
        frontier.append(hashAt(leaves, index));
        await takeHeads(frontier.size(), compare);
        if (index % TILE_WIDTH === 0) await nextTurn();
      }
      await compareTiles();
    },
    /** After the last leaf. */
    async end() {
      await takeHeads(Infinity, ({ checkpoint, subject }) => {
        const detail = `the tree has ${size} leaves, but the ${subject}${timeOf(checkpoint)} has ${checkpoint.size}`;
        report({ state: 'MISSING', subject, detail, leaves: [size, checkpoint.size] });
      });
      if (seen !== undefined && seen.size > 0 && seen.size <= size) {
        const [stored] = await checkpointsAfter(db, seen.size - 1, 1);
        const detail = `the database does not have the checkpoint${timeOf(seen)}, which this machine has seen`;
        if (stored?.size !== seen.size)
          report({ state: 'MISSING', subject: 'checkpoint', detail, leaves: [0, seen.size] });
      }
      return {
        checkpoints: agreed.checkpoint,
        /** Leaves below this size are in a checkpoint that the tree agrees with, signed with a key that counts. */
        signedSize,
        /** The keys that have signed, in their order, and from which checkpoint on: more than one if the key was changed. */
        signedWith,
        /** Time of the first checkpoint that the tree agrees with. */
        sealedSince,
        /** Time-stamps of an authority that the tree agrees with. */
        timestamps: agreed['time-stamp'],
        witnessed: [...witnessed.values()],
        anchors: agreed.anchor,
        /** Leaves below this size are in an anchor that the tree agrees with. */
        anchoredSize,
      };
    },
  };
}

const timeOf = ({ time }: Checkpoint) => (time === undefined ? '' : ` of ${time.toISOString()}`);

interface Head {
  readonly checkpoint: Checkpoint;
  readonly subject: 'checkpoint' | 'seen checkpoint' | 'time-stamp' | 'anchor';
  /** Of a stored checkpoint: the key that has signed it. */
  readonly publicKey?: string;
}

const PAGE = 1_000;

/** All heads by size: the stored checkpoints and time-stamps, a page at a time, and those from outside. */
async function* headsBySize(
  db: Db,
  lastSigned: number,
  { anchors, trust }: Outside,
  report: Report,
): AsyncGenerator<Head, undefined> {
  const kept = anchors.map((checkpoint): Head => ({ checkpoint, subject: 'anchor' }));
  if (trust.seen !== undefined) kept.push({ checkpoint: trust.seen, subject: 'seen checkpoint' });
  for (let [readTo, isRead] = [0, false]; !isRead;) {
    const page = await checkpointsAfter(db, readTo, PAGE);
    const from = readTo;
    isRead = page.length < PAGE;
    readTo = page.at(-1)?.size ?? readTo;
    const stamps = await timestampsBetween(db, from, isRead ? lastSigned : readTo);
    // One that was signed meanwhile is of a larger tree than the one that is compared.
    const before = page.filter(({ size }) => size <= lastSigned);
    const isOfPage = ({ checkpoint: { size } }: Head) => size > from && (isRead || size <= readTo);
    yield* [
      ...kept.filter(isOfPage),
      ...before.flatMap((stored) => readStored(stored, trust, report)),
      ...stamps.flatMap((stamp) => readStamp(stamp, report)),
    ].toSorted(bySize);
  }
  return undefined;
}

const bySize = (a: Head, b: Head) => a.checkpoint.size - b.checkpoint.size;

/** The head of a stored checkpoint, unless it is damaged, or signed with a key that does not count. */
function readStored(
  { size, madeAt, note, publicKey }: StoredCheckpoint,
  trust: Trust,
  report: Report,
): readonly Head[] {
  try {
    const [checkpoint] = parseCheckpoints(note);
    const isAsNoted = checkpoint?.size === size && (checkpoint.time ?? madeAt).getTime() === madeAt.getTime();
    if (isAsNoted && isSignedBy(note, parseVerifier(publicKey))) {
      if (!isForeign(note, trust)) {
        return [{ checkpoint, subject: 'checkpoint', publicKey }];
      }
      const foreign = `the checkpoint${timeOf(checkpoint)} at size ${size} is signed with a key that is not in LOG_KEY_FILE: ${publicKey}`;
      report({ state: 'ALTERED', subject: 'checkpoint', detail: foreign });
      return [];
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  const detail = `the checkpoint of ${madeAt.toISOString()} at size ${size} is damaged or its signature is wrong`;
  report({ state: 'ALTERED', subject: 'checkpoint', detail });
  return [];
}

/** The head of a stored time-stamp, unless it is damaged. */
function readStamp({ size, madeAt, note, token }: StoredTimestamp, report: Report): readonly Head[] {
  try {
    const [checkpoint] = parseCheckpoints(note);
    if (checkpoint?.size === size && timeOfAnswer(token, note).getTime() === madeAt.getTime()) {
      return [{ checkpoint, subject: 'time-stamp' }];
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  const detail = `the time-stamp of ${madeAt.toISOString()} at size ${size} is damaged`;
  report({ state: 'ALTERED', subject: 'time-stamp', detail });
  return [];
}

/** Reads stored nodes above the leaves, from left to right: of each level one tile is kept. */
function storedNodes(db: Db) {
  const kept = new Map<number, { readonly number: number; readonly hashes: Buffer }>();
  return async (level: number, index: number): Promise<Buffer> => {
    const number = Math.floor(index / TILE_WIDTH);
    let tile = kept.get(level);
    if (tile?.number !== number) {
      tile = { number, hashes: await readTile(db, level, number) };
      kept.set(level, tile);
    }
    return hashAt(tile.hashes, index % TILE_WIDTH);
  };
}
