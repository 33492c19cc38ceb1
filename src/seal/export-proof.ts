import { createHash } from 'node:crypto';
import { open, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { unlessMissing } from '../lib/files/durable-file.ts';
import { makePrivateDirectory } from '../lib/files/private-directory.ts';
import { UsageError } from '../lib/errors.ts';
import type { TimeRange } from '../lib/text/parse-time.ts';
import { countOf } from '../lib/text/units.ts';
import { timestampsBetween } from '../store/seal/anchors.ts';
import type { Db } from '../store/server/database.ts';
import { readRuns, readSalts } from '../store/seal/read-seals.ts';
import { checkpointsAfter, latestCheckpoint, readTile } from '../store/seal/seal-log.ts';
import { readingSealed, readSealedEvents, type Positions } from '../store/seal/sealed-rows.ts';
import { readStatements } from '../store/seal/statements.ts';
import { parseCheckpoints } from './checkpoint.ts';
import {
  ABSENT,
  CHECKPOINTS,
  leafTiles,
  MANIFEST,
  MANIFEST_NOTE,
  ROWS,
  stampPaths,
  tileBytes,
  tilePath,
  upperTiles,
  writeManifest,
  type Manifest,
  type ManifestFile,
} from './proof-folder.ts';
import { saltAt } from './stored-tree.ts';
import { documentNote, signNote, type LogKey } from './signed-note.ts';
import type { Trust } from './trust.ts';
import { isDifference, type VerifyFinding } from './verify/finding.ts';
import { verifyFolder } from './verify/verify-folder.ts';
import { checkChunk, chunksOf, partOf, positionsOf, type Chunk } from './verify/verify-log.ts';
import { EVERYTHING, readGoneReasons, type GoneReasons } from './verify/verify-rows.ts';

/** What of the events to export: those that were received in a range. Neither end: everything that is sealed. */
export interface ExportOptions extends TimeRange {
  readonly key: LogKey;
  /** The keys whose signatures count. */
  readonly trust: Pick<Trust, 'keys'>;
  /** Exports also what is not as it was sealed. */
  readonly withFindings?: boolean | undefined;
}

/** Rows and checkpoints that are read at once. */
const ROWS_AT_ONCE = 512;
const CHECKPOINTS_AT_ONCE = 1_000;

/**
 * Writes rows to a directory, which must be empty, with all that it takes to verify them without the database: salts, the
 * tiles of the tree, checkpoints and time-stamps. The rows are those of events, and between the first and the last of them also
 * those of statements. Throws a UsageError if there is nothing to write, and, with nothing written, if it does not verify. Memory
 * does not grow with the number of rows.
 */
export async function exportProof(
  db: Db,
  directory: string,
  { key, trust, withFindings = false, since, until }: ExportOptions,
  onLeaves: (done: number) => void,
) {
  const chunks = await chooseChunks(db, { since, until });
  const leaves = rangesOf(chunks);
  const [first, last] = [leaves[0], leaves.at(-1)];
  if (first === undefined || last === undefined) {
    throw new UsageError(
      'No event in that range is in a checkpoint yet. While serve runs, it signs one every minute.',
    );
  }
  await makeEmptyDirectory(directory);
  const rows = await writeRows(db, directory, chunks, onLeaves);
  const heads = await writeCheckpoints(db, directory, first[0], last[1]);
  const stamps = await writeStamps(db, directory, first[0], last[1]);
  const sizes = [...heads.sizes, ...stamps.sizes];
  const size = Math.max(...[heads.sizes, stamps.sizes].map((some) => some.at(-1) ?? 0));
  await writeTiles(db, directory, size, leaves, sizes);
  const manifest: Manifest = {
    format: 'xiq-sink-proof/2',
    origin: heads.origin,
    public_keys: [...heads.publicKeys],
    range: { since: since?.toISOString() ?? null, until: until?.toISOString() ?? null },
    size,
    leaves,
    files: [rows.file, rows.absentFile, heads.file, ...stamps.files],
  };
  const text = writeManifest(manifest);
  await writeFile(path.join(directory, MANIFEST), text, { mode: 0o600 });
  const note = signNote(documentNote(heads.origin, MANIFEST, text), key);
  await writeFile(path.join(directory, MANIFEST_NOTE), note, { mode: 0o600 });
  const findings = await findDifferences(directory, trust);
  if (findings.count > 0 && !withFindings) {
    for (const entry of await readdir(directory)) await rm(path.join(directory, entry), { recursive: true });
    throw new UsageError(
      `Nothing was exported, because rows differ from the seal: ${countOf(findings.count, 'finding')}, such as ${findings.first}. Run verify to see all. --with-findings exports anyway.`,
    );
  }
  return {
    findings: findings.count,
    rows: rows.rows,
    absent: rows.absent,
    checkpoints: heads.sizes.length,
    timestamps: stamps.sizes.length,
  };
}

/** Verifies what was written as whoever receives it does, and with the keys that are known here. */
async function findDifferences(directory: string, trust: Pick<Trust, 'keys'>) {
  let first: string | undefined;
  let count = 0;
  const report = (finding: VerifyFinding) => {
    if (!isDifference(finding)) return;
    first ??= `${finding.state} ${finding.subject}: ${finding.detail}`;
    count += 1;
  };
  await verifyFolder(directory, { anchors: [], keys: trust.keys }, report, () => undefined);
  return { count, first };
}

/** The leaves to write, in their order. Those behind the latest checkpoint cannot be proven yet. */
async function chooseChunks(db: Db, { since, until }: TimeRange): Promise<readonly Chunk[]> {
  const { size = 0 } = (await latestCheckpoint(db)) ?? {};
  const all = await Array.fromAsync(chunksOf(readRuns(db), size, () => undefined));
  if (since === undefined && until === undefined) return all.filter(({ count }) => count > 0);
  const positions = await positionsOf(db, { since, until });
  const chosen = all.flatMap((chunk) => cut(chunk, positions));
  const isEvent = ({ of }: Chunk) => typeof of === 'object';
  return chosen.slice(chosen.findIndex(isEvent), chosen.findLastIndex(isEvent) + 1);
}

function cut(chunk: Chunk, { from, to }: Positions): readonly Chunk[] {
  const { count, of } = chunk;
  if (typeof of !== 'object') return count > 0 ? [chunk] : [];
  const [start, end] = [Math.max(of.position, from), Math.min(of.position + count, to)];
  return start >= end ? [] : [partOf(chunk, start - of.position, end - start)];
}

function rangesOf(chunks: readonly Chunk[]): Manifest['leaves'] {
  const ranges: Manifest['leaves'] = [];
  for (const { leaf, count } of chunks) {
    const last = ranges.at(-1);
    if (last?.[1] === leaf) last[1] += count;
    else ranges.push([leaf, leaf + count]);
  }
  return ranges;
}

async function makeEmptyDirectory(directory: string): Promise<void> {
  const entries = await unlessMissing(readdir(directory), []);
  if (entries.length > 0) throw new UsageError(`${directory} is not empty. Use a new directory.`);
  await makePrivateDirectory(directory);
}

/** A file in the making, whose size and hash go into the manifest. */
async function createFile(directory: string, name: string) {
  const file = path.join(directory, name);
  await makePrivateDirectory(path.dirname(file));
  const handle = await open(file, 'wx', 0o600);
  const digest = createHash('sha256');
  let bytes = 0;
  return {
    async write(content: string | Buffer): Promise<void> {
      digest.update(content);
      bytes += Buffer.byteLength(content);
      await handle.appendFile(content);
    },
    async end(): Promise<ManifestFile> {
      await handle.close();
      return { path: name, bytes, sha256: digest.digest('hex') };
    },
  };
}

/** A line of each leaf: its number, its salt in hexadecimal digits and its row; a hyphen for what is gone. */
async function writeRows(
  db: Db,
  directory: string,
  chunks: readonly Chunk[],
  onLeaves: (done: number) => void,
) {
  const file = await createFile(directory, ROWS);
  const absentFile = await createFile(directory, ABSENT);
  const reasons = await readGoneReasons(db);
  let [rows, absent] = [0, 0];
  for (const chunk of chunks) {
    for (let done = 0; done < chunk.count; done += ROWS_AT_ONCE) {
      const [leaf, count] = [chunk.leaf + done, Math.min(ROWS_AT_ONCE, chunk.count - done)];
      const records = await readRecords(db, chunk, leaf, count);
      const salts = await readSalts(db, leaf, leaf + count);
      const lines = Array.from({ length: count }, (_, index) => {
        const record = records.get(leaf + index);
        if (record === undefined) return `${leaf + index} - -\n`;
        return `${leaf + index} ${saltAt(salts, index).toString('hex')} ${record}\n`;
      });
      await file.write(lines.join(''));
      if (records.size < count) {
        await absentFile.write(await explainAbsent(db, partOf(chunk, done, count), records, reasons));
      }
      rows += records.size;
      absent += count - records.size;
      onLeaves(rows + absent);
    }
  }
  return { file: await file.end(), absentFile: await absentFile.end(), rows, absent };
}

/** A line for each leaf without a row: the state and the reason that `verify` finds. */
async function explainAbsent(
  db: Db,
  piece: Chunk,
  records: ReadonlyMap<number, string>,
  reasons: GoneReasons,
): Promise<string> {
  const { findings } = await checkChunk(db, piece, EVERYTHING, reasons);
  const found = new Map(findings.map(({ leaves, state, detail }) => [leaves?.[0], `${state} ${detail}`]));
  const gone = Array.from({ length: piece.count }, (_, index) => piece.leaf + index).filter(
    (leaf) => !records.has(leaf),
  );
  return gone
    .map((leaf) => `${leaf} ${found.get(leaf) ?? 'MISSING it is unknown what it belonged to'}\n`)
    .join('');
}

async function readRecords(
  db: Db,
  { leaf: start, of }: Chunk,
  leaf: number,
  count: number,
): Promise<ReadonlyMap<number, string>> {
  if (of === undefined) return new Map();
  if (of === 'statements') {
    const statements = await readStatements(db, leaf, leaf + count);
    return new Map(statements.map((statement) => [statement.leaf, statement.record]));
  }
  const { position: first, version } = of;
  const from = first + leaf - start;
  const events = await readingSealed(db, (trx) => readSealedEvents(trx, { from, to: from + count, version }));
  return new Map(
    events.flatMap(({ position, record }) => (record === null ? [] : [[leaf + position - from, record]])),
  );
}

/** Writes the checkpoints between two leaves, and the first one that has both. */
async function writeCheckpoints(db: Db, directory: string, first: number, last: number) {
  const file = await createFile(directory, CHECKPOINTS);
  const sizes: number[] = [];
  const publicKeys = new Set<string>();
  let origin = '';
  let above = first;
  while (above < last) {
    const page = await checkpointsAfter(db, above, CHECKPOINTS_AT_ONCE);
    const wanted = page.slice(0, page.findIndex(({ size }) => size >= last) + 1 || page.length);
    for (const { size, note, publicKey } of wanted) {
      await file.write(sizes.length === 0 ? note : `\n${note}`);
      sizes.push(size);
      publicKeys.add(publicKey);
      origin = parseCheckpoints(note)[0]?.origin ?? origin;
    }
    above = wanted.at(-1)?.size ?? last;
  }
  return { file: await file.end(), sizes, publicKeys, origin };
}

/** Writes the time-stamps between two leaves, and the first one that has both. */
async function writeStamps(db: Db, directory: string, first: number, last: number) {
  const sizes: number[] = [];
  const files: ManifestFile[] = [];
  const all = await timestampsBetween(db, first, Number.MAX_SAFE_INTEGER);
  const wanted = all.slice(0, all.findIndex(({ size }) => size >= last) + 1 || all.length);
  for (const { size, note, token } of wanted) {
    const paths = stampPaths(size);
    files.push(await keepFile(directory, paths.note, note), await keepFile(directory, paths.answer, token));
    sizes.push(size);
  }
  return { sizes, files };
}

async function keepFile(directory: string, name: string, content: string | Buffer): Promise<ManifestFile> {
  const file = await createFile(directory, name);
  await file.write(content);
  return file.end();
}

async function writeTiles(
  db: Db,
  directory: string,
  size: number,
  leaves: Manifest['leaves'],
  sizes: readonly number[],
): Promise<void> {
  const write = async (level: number, number: number) => {
    const file = path.join(directory, tilePath(level, number, size));
    await makePrivateDirectory(path.dirname(file));
    const hashes = await readTile(db, level, number);
    await writeFile(file, hashes.subarray(0, tileBytes(level, number, size)), { mode: 0o600 });
  };
  for (const number of leafTiles(leaves, sizes)) await write(0, number);
  for (const [level, number] of upperTiles(size)) await write(level, number);
}
