import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCheckpoints, writeCheckpoint } from '../../src/seal/checkpoint.ts';
import {
  consistencyProof,
  createFrontier,
  hashAt,
  inclusionProof,
  nodesOfTiles,
  readFrontier,
  rootAt,
  rootOfPath,
  rootsOfConsistency,
} from '../../src/seal/merkle-tree.ts';
import { generateLogKey, isSignedBy, parseLogKey, parseVerifier } from '../../src/seal/signed-note.ts';
import { buildForeignCheck, hasGo } from '../support/foreign-log.ts';
import { growTree } from '../support/grow-tree.ts';

const LEAVES = 70_000;

/** RFC 6962, section 2.1, to the letter. */
function naiveRoot(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return hash('sha256', Buffer.alloc(0), 'buffer');
  if (leaves.length === 1) return only;
  let middle = 1;
  while (middle * 2 < leaves.length) middle *= 2;
  const parts = [Buffer.of(1), naiveRoot(leaves.slice(0, middle)), naiveRoot(leaves.slice(middle))];
  return hash('sha256', Buffer.concat(parts), 'buffer');
}

const tree = growTree(LEAVES);
const size = fc.oneof(
  fc.integer({ min: 1, max: 600 }),
  fc.integer({ min: 1, max: LEAVES }),
  fc.constantFrom(256, 65_536),
);
const sizes = fc.tuple(size, size).map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const);

describe('the tree', () => {
  it('has the roots of RFC 6962 at each size, from tiles and while it grows', async () => {
    for (const count of [0, 1, 2, 3, 255, 256, 257, 511, 513, 1_000]) {
      const expected = naiveRoot(tree.leaves.slice(0, count));
      expect(await rootAt(tree.read, count)).toEqual(expected);
      expect(growTree(count).frontier.root()).toEqual(expected);
    }
    expect(tree.frontier.root()).toEqual(await rootAt(tree.read, LEAVES));
  });

  it('goes on growing from the edge that its tiles have', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, async ([before, after]) => {
        const edge = await readFrontier(tree.read, before);
        const frontier = createFrontier(() => undefined, before, edge);
        for (const leaf of tree.leaves.slice(before, Math.min(after, before + 500))) frontier.append(leaf);
        expect(frontier.root()).toEqual(await rootAt(tree.read, frontier.size()));
      }),
    );
  });

  it('proves inclusion, and proves nothing about another leaf', async () => {
    await fc.assert(
      fc.asyncProperty(sizes, async ([index, total]) => {
        const path = await inclusionProof(tree.read, index - 1, total);
        const [leaf, other] = [tree.leaves[index - 1], tree.leaves[index]];
        if (leaf === undefined || other === undefined) return;
        const root = await rootAt(tree.read, total);
        expect(rootOfPath(leaf, index - 1, total, path)).toEqual(root);
        expect(rootOfPath(other, index - 1, total, path)).not.toEqual(root);
        const shorter = total === 1 ? undefined : rootOfPath(leaf, index - 1, total, path.slice(1));
        expect(shorter).toBeUndefined();
      }),
    );
  });

  it('proves that it has only grown, and what another tree begins with', async () => {
    const changed = growTree(600, (index) => `entry ${index === 3 ? 'changed' : index}`);
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), async ([earlier, later], at) => {
        if (earlier === later) return;
        const proof = await consistencyProof(tree.read, earlier, later);
        const [before, after] = [await rootAt(tree.read, earlier), await rootAt(tree.read, later)];
        const roots = { earlier: before, later: after };
        expect(rootsOfConsistency(earlier, before, later, proof)).toEqual(roots);
        const isPower = Number.isInteger(Math.log2(earlier));
        const known = isPower ? before : Buffer.alloc(32);
        expect(rootsOfConsistency(earlier, known, later, proof)).toEqual(roots);
        expect(rootsOfConsistency(earlier, before, later, [...proof, after])).toBeUndefined();
        const place = at % proof.length;
        expect(rootsOfConsistency(earlier, before, later, proof.toSpliced(place, 1))?.later).not.toEqual(
          after,
        );
        expect(rootsOfConsistency(earlier, before, later, proof.with(place, before))?.later).not.toEqual(
          after,
        );
        if (later > 600 || earlier < 4) return;
        const forged = await consistencyProof(changed.read, earlier, later);
        const found = rootsOfConsistency(earlier, before, later, forged);
        const begins = await rootAt(changed.read, earlier);
        const grown = await rootAt(changed.read, later);
        expect(isPower ? found?.later.equals(grown) : !found?.earlier.equals(begins)).toBe(false);
      }),
    );
  });

  it('says that a tile is damaged rather than to prove something from it', async () => {
    const damaged = nodesOfTiles(async () => Buffer.alloc(32 * 5));
    await expect(damaged(0, 7)).rejects.toThrow('its tiles are damaged');
  });
});

const KEY = parseLogKey(generateLogKey('xiq-sink/test'));
const VERIFIER = parseVerifier(KEY.publicText);

describe('checkpoints', () => {
  const root = hashAt(Buffer.alloc(64, 7), 1);
  const time = new Date('2026-03-01T10:00:00Z');
  const note = writeCheckpoint(9, root, time, KEY);

  it('are read as they were written, also several in one file', () => {
    const other = writeCheckpoint(10, root, time, KEY);
    expect(parseCheckpoints(`${note}\n${other}`)).toEqual([
      { origin: 'xiq-sink/test', size: 9, root, time, note },
      { origin: 'xiq-sink/test', size: 10, root, time, note: other },
    ]);
    expect(() => parseCheckpoints('<html>')).toThrow('no checkpoint of a log begins at character 0');
  });

  it('are signed by their key alone, as they are', () => {
    expect(isSignedBy(note, VERIFIER)).toBe(true);
    expect(isSignedBy(note.replace('\n9\n', '\n8\n'), VERIFIER)).toBe(false);
    const another = parseLogKey(generateLogKey('xiq-sink/test'));
    expect(isSignedBy(note, parseVerifier(another.publicText))).toBe(false);
  });
});

describe.skipIf(!hasGo())("Go's packages for transparency logs (golang-go, golang-golang-x-mod-dev)", () => {
  const text = (hash: Buffer) => hash.toString('base64');

  it('accept notes, inclusion proofs and consistency proofs of any size', async () => {
    const check = buildForeignCheck();
    const drawn = fc.sample(sizes, { numRuns: 200 });
    const inclusion = await Promise.all(
      drawn.map(async ([index, Size]) => ({
        Index: index - 1,
        Size,
        Leaf: text(tree.leaves[index - 1] ?? Buffer.alloc(0)),
        Root: text(await rootAt(tree.read, Size)),
        Path: (await inclusionProof(tree.read, index - 1, Size)).map(text),
      })),
    );
    const consistency = await Promise.all(
      drawn.map(async ([Earlier, Later]) => ({
        Earlier,
        Later,
        EarlierRoot: text(await rootAt(tree.read, Earlier)),
        LaterRoot: text(await rootAt(tree.read, Later)),
        Path: (await consistencyProof(tree.read, Earlier, Later)).map(text),
      })),
    );
    const note = writeCheckpoint(LEAVES, tree.frontier.root(), new Date(), KEY);
    const given = { PublicKey: KEY.publicText, Notes: [note] };
    expect(check({ ...given, Inclusion: inclusion, Consistency: consistency })).toContain(
      '1 notes, 200 inclusion proofs, 200 consistency proofs',
    );
    expect(() => check({ ...given, Notes: [note.replace(`${LEAVES}`, '9')] })).toThrow('note');
  });
});
