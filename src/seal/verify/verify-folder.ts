import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { isMissingFile, unlessMissing } from '../../lib/files/durable-file.ts';
import { sha256Of } from '../../lib/files/sha256.ts';
import { UsageError } from '../../lib/errors.ts';
import { checkpointOf, type Checkpoint } from '../checkpoint.ts';
import type { Report, VerifyFinding } from './finding.ts';
import { hashAt, leafHash, nodesOfTiles, rootAt, TILE_WIDTH, tileRoot } from '../merkle-tree.ts';
import {
  ABSENT,
  CHECKPOINTS,
  countTiles,
  hashesAt,
  leafTiles,
  MANIFEST,
  MANIFEST_NOTE,
  parseManifest,
  ROWS,
  stampPaths,
  tileBytes,
  tilePath,
  upperTiles,
  type Manifest,
} from '../proof-folder.ts';
import { documentNote, isNoteOf, isSignedBy, parseVerifier, type NoteVerifier } from '../signed-note.ts';
import type { Trust } from '../trust.ts';
import { linesOf, notesOf, readStamp } from './read-folder.ts';
import type { Outside } from './verify-tree.ts';

type FileReport = (state: VerifyFinding['state'], key: string, detail: string) => void;

export type FolderSummary = Awaited<ReturnType<typeof verifyFolder>>;

/**
 * Verifies an exported proof without a database: rows against leaves, leaves against the tree, the tree against checkpoints,
 * time-stamps and anchors, and each file against the manifest, which has to name all of them. Calls back for each finding. Memory does not grow with the
 * number of rows. Without keys that count, those that the manifest names do, which a person compares. Throws a UsageError if
 * there is no manifest.
 */
export async function verifyFolder(
  directory: string,
  { anchors, keys = [] }: Pick<Outside, 'anchors'> & Partial<Pick<Trust, 'keys'>>,
  report: Report,
  onLeaves: (done: number) => void,
) {
  const folder = await openFolder(directory, report);
  if (folder === undefined) {
    return { publicKeys: [], size: 0, intact: 0, absent: 0, checkpoints: 0, timestamps: 0, anchors: 0 };
  }
  const { public_keys: publicKeys, size } = folder.manifest;
  await checkManifest(folder, keys);
  await checkFiles(folder);
  const { sizes, ...heads } = await checkHeads(folder, anchors);
  await checkTiles(folder, sizes);
  await findUnknownFiles(folder, sizes);
  // Keys whose signatures the checkpoints have, leaves of the tree, and what it agrees with.
  return { publicKeys, size, ...(await checkRows(folder, onLeaves)), ...heads };
}

interface Folder {
  readonly text: string;
  readonly directory: string;
  readonly manifest: Manifest;
  readonly verifiers: readonly NoteVerifier[];
  readonly report: Report;
  readonly reportFile: FileReport;
  /** Reads a tile; fewer bytes than it should have if it is damaged. */
  readonly tile: (level: number, number: number) => Promise<Buffer>;
}

const TILES_KEPT = 64;

/** So many missing tiles are named one by one. To look for those of any tree that somebody may have written would not end. */
const MOST_MISSING = 100_000;

async function openFolder(directory: string, report: Report): Promise<Folder | undefined> {
  const text = await readFile(path.join(directory, MANIFEST), 'utf8').catch((error: unknown) => {
    if (!isMissingFile(error)) throw error;
    throw new UsageError(`${directory} has no ${MANIFEST}: it is not a complete exported proof.`, {
      cause: error,
    });
  });
  const reportFile: FileReport = (state, key, detail) => report({ state, subject: 'file', key, detail });
  try {
    const manifest = parseManifest(text);
    const { length: files } = await readdir(directory, { recursive: true });
    if (countTiles(manifest) > files + MOST_MISSING) {
      throw new TypeError(
        `it describes a tree of ${manifest.size} leaves, but the directory has only ${files} files`,
      );
    }
    const verifiers = manifest.public_keys.map((key) => parseVerifier(key));
    const tiles = new LRUCache<string, Buffer>({ max: TILES_KEPT });
    const tile = async (level: number, number: number) => {
      const name = tilePath(level, number, manifest.size);
      const bytes =
        tiles.get(name) ?? (await unlessMissing(readFile(path.join(directory, name)), Buffer.alloc(0)));
      tiles.set(name, bytes);
      return bytes;
    };
    return { text, directory, manifest, verifiers, report, reportFile, tile };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    reportFile('ALTERED', MANIFEST, error.message);
    return undefined;
  }
}

/** Compares the manifest with the note that vouches for it, and with what it says to be of. */
async function checkManifest(
  { text, directory, manifest, verifiers, reportFile }: Folder,
  keys: readonly NoteVerifier[],
): Promise<void> {
  const note = await unlessMissing(readFile(path.join(directory, MANIFEST_NOTE), 'utf8'), undefined);
  const vouching = documentNote(manifest.origin, MANIFEST, text);
  const signs = (verifier: NoteVerifier) => note !== undefined && isNoteOf(note, vouching, verifier);
  if (note === undefined) {
    reportFile('MISSING', MANIFEST_NOTE, 'nothing confirms the manifest');
  } else if (!verifiers.some(signs)) {
    reportFile('ALTERED', MANIFEST_NOTE, `this ${MANIFEST} is not signed with a key of the log`);
  } else if (keys.length > 0 && !keys.some(signs)) {
    reportFile('ALTERED', MANIFEST_NOTE, 'it is signed with a key that is not in LOG_KEY_FILE');
  }
  const { since, until } = manifest.range;
  const [[first, last] = [], ...others] = manifest.leaves;
  if (since === null && until === null && (first !== 0 || last !== manifest.size || others.length > 0)) {
    reportFile('ALTERED', MANIFEST, 'it covers the whole log, but does not have all leaves');
  }
}

async function checkFiles({ directory, manifest, reportFile }: Folder): Promise<void> {
  for (const { path: name, bytes, sha256 } of manifest.files) {
    const file = path.join(directory, name);
    const found = await unlessMissing(stat(file), undefined);
    if (found === undefined) reportFile('MISSING', name, 'the manifest lists it');
    else if (found.size !== bytes || (await sha256Of(file)) !== sha256) {
      reportFile('ALTERED', name, 'it differs from its hash in the manifest');
    }
  }
}

async function checkHeads(folder: Folder, anchors: readonly Checkpoint[]) {
  const { directory, manifest, verifiers, report, reportFile } = folder;
  const sizes: number[] = [];
  const agreed = { checkpoint: 0, 'time-stamp': 0, anchor: 0 };
  const compare = async (checkpoint: Checkpoint, subject: keyof typeof agreed) => {
    const { size, root, origin } = checkpoint;
    sizes.push(size);
    if (origin === manifest.origin && (await rootOf(folder, size))?.equals(root) === true) {
      agreed[subject] += 1;
      return;
    }
    const detail = `the leaves differ from the ${subject} of ${size} leaves`;
    report({ state: 'ALTERED', subject, detail, leaves: [0, size] });
  };
  let largest = 0;
  for await (const note of notesOf(path.join(directory, CHECKPOINTS))) {
    const checkpoint = checkpointOf(note);
    if (checkpoint === undefined || !verifiers.some((verifier) => isSignedBy(note, verifier))) {
      const detail = `a checkpoint is damaged or its signature is wrong: ${note.slice(0, 80)}`;
      report({ state: 'ALTERED', subject: 'checkpoint', detail });
      continue;
    }
    largest = Math.max(largest, checkpoint.size);
    await compare(checkpoint, 'checkpoint');
  }
  for (const size of stampSizes(manifest)) {
    const { note, answer } = stampPaths(size);
    const stamp = await readStamp(path.join(directory, note), path.join(directory, answer));
    if (stamp?.size === size) await compare(stamp, 'time-stamp');
    else report({ state: 'ALTERED', subject: 'time-stamp', key: answer, detail: 'it is damaged' });
    largest = Math.max(largest, size);
  }
  if (largest !== manifest.size) {
    const detail = `it has ${manifest.size} leaves, but the largest checkpoint or time-stamp has ${largest}`;
    reportFile('ALTERED', MANIFEST, detail);
  }
  const own = [...sizes];
  const tiles = new Set(leafTiles(manifest.leaves, own));
  // The export has the tiles that it takes to compute the root of a tree of this size.
  const isCovered = ({ size }: Checkpoint) =>
    size <= manifest.size && (size % TILE_WIDTH === 0 || tiles.has(Math.floor(size / TILE_WIDTH)));
  for (const anchor of anchors.filter(isCovered)) await compare(anchor, 'anchor');
  const { checkpoint: checkpoints, 'time-stamp': timestamps } = agreed;
  return { sizes: own, checkpoints, timestamps, anchors: agreed.anchor };
}

async function rootOf({ tile, manifest }: Folder, size: number): Promise<Buffer | undefined> {
  if (size > manifest.size) return undefined;
  try {
    return await rootAt(nodesOfTiles(tile), size);
  } catch (error) {
    // The tiles are damaged, which is found by itself.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

const stampSizes = ({ files }: Manifest) =>
  files.flatMap(({ path: name }) => {
    const size = /^time-stamps\/(?<size>\d+)\.tsr$/.exec(name)?.groups?.['size'];
    return size === undefined ? [] : [Number(size)];
  });

/** Compares each full tile with the hash that the level above has of it. The others are part of the root. */
async function checkTiles(
  { manifest, tile, report, reportFile }: Folder,
  sizes: readonly number[],
): Promise<void> {
  const { size, leaves } = manifest;
  const check = async (level: number, number: number) => {
    const bytes = await tile(level, number);
    const name = tilePath(level, number, size);
    if (bytes.length !== tileBytes(level, number, size)) {
      return reportFile(bytes.length === 0 ? 'MISSING' : 'ALTERED', name, 'its size is wrong');
    }
    if (number >= hashesAt(level + 1, size)) return;
    const above = await tile(level + 1, Math.floor(number / TILE_WIDTH));
    if (tileRoot(bytes).equals(hashAt(above, number % TILE_WIDTH))) return;
    const width = TILE_WIDTH ** (level + 1);
    const detail = `${name} differs from the level above it`;
    report({ state: 'ALTERED', subject: 'leaves', detail, leaves: [number * width, (number + 1) * width] });
  };
  for (const number of leafTiles(leaves, sizes)) await check(0, number);
  for (const [level, number] of upperTiles(size)) await check(level, number);
}

/** Finds files that are no part of the proof: who gets the folder may take them for a part of it. */
async function findUnknownFiles({ directory, manifest, reportFile }: Folder, sizes: readonly number[]) {
  const { size, leaves, files } = manifest;
  const known = new Set([
    MANIFEST,
    MANIFEST_NOTE,
    ...files.map(({ path: name }) => name),
    ...[...leafTiles(leaves, sizes)].map((number) => tilePath(0, number, size)),
    ...[...upperTiles(size)].map(([level, number]) => tilePath(level, number, size)),
  ]);
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const name = path.relative(directory, path.join(entry.parentPath, entry.name));
    if (entry.isDirectory() || known.has(name.split(path.sep).join('/'))) continue;
    reportFile('INSERTED', name, 'it is not part of the proof');
  }
}

/** Compares rows with their leaves: there must be a line for each leaf, in their order. */
async function checkRows(
  { directory, manifest, tile, report, reportFile }: Folder,
  onLeaves: (done: number) => void,
) {
  /** `absent`: rows that were gone when the proof was exported. */
  const counts = { intact: 0, absent: 0 };
  const expected = leavesOf(manifest);
  const absences = linesOf(path.join(directory, ABSENT));
  let done = 0;
  for await (const line of linesOf(path.join(directory, ROWS))) {
    const leaf = expected.next().value;
    if (leaf === undefined) {
      reportFile('INSERTED', ROWS, 'it has more lines than leaves');
      break;
    }
    const entry = entryOf(line, leaf);
    const hashes = await tile(0, Math.floor(leaf / TILE_WIDTH));
    if (entry === 'absent') {
      counts.absent += 1;
      const next = await absences.next();
      report(explainAbsence(next.done === true ? undefined : next.value, leaf));
    } else if (entry && leafHash(entry).equals(hashAt(hashes, leaf % TILE_WIDTH))) counts.intact += 1;
    else {
      const detail = 'the row differs from its leaf';
      report({ state: 'ALTERED', subject: 'leaves', detail, leaves: [leaf, leaf + 1] });
    }
    done += 1;
    onLeaves(done);
  }
  const missing = expected.next().value;
  if (missing !== undefined) {
    const detail = `${ROWS} has no line for it, nor for those after it`;
    report({ state: 'MISSING', subject: 'leaves', detail, leaves: [missing, missing + 1] });
  }
  return counts;
}

function explainAbsence(line: Buffer | undefined, leaf: number): VerifyFinding {
  const about = { subject: 'leaves', leaves: [leaf, leaf + 1] } as const;
  const { groups = {} } =
    /^(?<number>\d+) (?<state>[A-Z]+) (?<detail>.+)$/.exec(line?.toString() ?? '') ?? {};
  const { number, state, detail = '' } = groups;
  if (Number(number) !== leaf) return { state: 'MISSING', detail: `${ABSENT} does not say why`, ...about };
  const isExcused = state === 'EXPIRED' || state === 'ERASED';
  return { state: isExcused ? state : 'MISSING', detail, ...about };
}

function* leavesOf({ leaves }: Manifest): Generator<number, undefined> {
  for (const [from, to] of leaves) for (let leaf = from; leaf < to; leaf += 1) yield leaf;
}

/** The entry of the tree that a line has: salt and row. Undefined if the line is not of the leaf. */
function entryOf(line: Buffer, leaf: number): Buffer | 'absent' | undefined {
  const prefix = Buffer.from(`${leaf} `);
  if (!line.subarray(0, prefix.length).equals(prefix)) return undefined;
  const rest = line.subarray(prefix.length);
  if (rest.equals(Buffer.from('- -'))) return 'absent';
  const salt = /^[\da-f]{32} $/.exec(rest.subarray(0, 33).toString('latin1'))?.[0];
  return salt === undefined ? undefined : Buffer.concat([Buffer.from(salt, 'hex'), rest.subarray(33)]);
}
