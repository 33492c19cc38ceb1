import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { putCheckpoint, timestampAnchor } from '../../src/seal/anchors.ts';
import { parseCheckpoints } from '../../src/seal/checkpoint.ts';
import { exportProof, type ExportOptions } from '../../src/seal/export-proof.ts';
import type { VerifyFinding } from '../../src/seal/verify/finding.ts';
import { consistencyProof, hashAt, inclusionProof, nodesOfTiles } from '../../src/seal/merkle-tree.ts';
import { parseManifest, tilePath, writeManifest, type Manifest } from '../../src/seal/proof-folder.ts';
import { documentNote, generateLogKey, parseLogKey, signNote } from '../../src/seal/signed-note.ts';
import { verifyFolder } from '../../src/seal/verify/verify-folder.ts';
import { recordEnded } from '../../src/store/access/operator-log.ts';
import { latestCheckpoint } from '../../src/store/seal/seal-log.ts';
import { hasOpenssl } from '../support/certificates.ts';
import { buildForeignCheck, hasGo } from '../support/foreign-log.ts';
import { endOfCommand } from '../support/command.ts';
import { freely } from '../support/tamper.ts';
import { startTimestampAuthority } from '../support/time-stamp-authority.ts';
import { STORED, storeVariedEvents } from '../store/events/varied-events.ts';
import { filesOf, mendManifest } from '../support/proof-folder.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { knowing } from '../support/trust.ts';
import { useDatabase } from '../support/use-database.ts';
import { runs } from '../support/runs.ts';

const test = useDatabase();
let log: SealedLog;
/** The whole log: statements, events, statements, events that were stored later. */
let whole: string;
let counts: Awaited<ReturnType<typeof exportProof>>;
let middle: Date;
beforeAll(async () => {
  log = await openSealedLog(test.service);
  await sealMore();
  await storeVariedEvents(test.db);
  await sealMore();
  if (hasOpenssl) {
    await using authority = await startTimestampAuthority();
    await putCheckpoint(test.service, [timestampAnchor(test.service, authority.url)], (_, error) => {
      if (error !== undefined) throw new Error('the authority did not stamp', { cause: error });
    });
  }
  middle = new Date();
  await storeOne();
  await sealMore();
  whole = path.join(log.directory, 'whole');
  counts = await exportProof(test.service, whole, options(), () => undefined);
});

const options = (range: Partial<ExportOptions> = {}): ExportOptions => ({
  key: log.key,
  trust: knowing(log.key),
  ...range,
});

/** Records two operations, and seals everything. */
async function sealMore(): Promise<void> {
  for (const name of ['jane', 'joe\u2028\\']) {
    await recordEnded(test.service, { operator: { name, via: 'console' }, action: 'settings.reload' });
  }
  await log.seal();
}

async function storeOne(): Promise<void> {
  await test.query`
    insert into audit_events (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
    select '2026-03-01T09:00:00Z', now(), gen_random_uuid(), gen_random_uuid(), 's', 'AUDIT_LOG_ALL', 'webhook',
      jsonb_build_object('text', E'\u2028\r\n')`;
}

async function verified(folder: string, options: Partial<Parameters<typeof verifyFolder>[1]> = {}) {
  const findings: VerifyFinding[] = [];
  const summary = await verifyFolder(
    folder,
    { anchors: [], ...options },
    (finding) => findings.push(finding),
    () => undefined,
  );
  return { summary, findings };
}

/** A copy of the whole proof, to be changed. */
async function copyOfWhole(name: string): Promise<string> {
  const folder = path.join(log.directory, name);
  await cp(whole, folder, { recursive: true });
  return folder;
}

async function exported(range: Partial<ExportOptions>): Promise<string> {
  const folder = await mkdtemp(path.join(log.directory, 'range-'));
  await exportProof(test.service, folder, options(range), () => undefined);
  return folder;
}

const STAMPS = hasOpenssl ? 1 : 0;

describe('an exported proof', () => {
  it('of everything is verified without the database, with the checkpoints and time-stamps', async () => {
    const { note = '' } = (await latestCheckpoint(test.service)) ?? {};
    const { summary, findings } = await verified(whole, { anchors: parseCheckpoints(note) });
    expect(findings).toEqual([]);
    expect(summary).toMatchObject({ absent: 0, checkpoints: 3, timestamps: STAMPS, anchors: 1 });
    expect(summary.intact).toBe(summary.size);
    const all = { findings: 0, rows: summary.size, absent: 0, checkpoints: 3, timestamps: STAMPS };
    expect(counts).toEqual(all);
    expect(summary.intact).toBeGreaterThan(STORED + 6);
    expect(summary.publicKeys).toEqual([log.key.publicText]);
  });

  it('of a time has the rows of that time, and the tiles that lead to its checkpoints', async () => {
    const before = await exported({ until: middle });
    const early = await verified(before);
    expect(early.findings).toEqual([]);
    expect(early.summary).toMatchObject({ intact: STORED, absent: 0, timestamps: STAMPS });
    const after = await verified(await exported({ since: middle }));
    expect(after.findings).toEqual([]);
    expect(after.summary).toMatchObject({ intact: 1, checkpoints: 1, timestamps: 0 });
    await expect(exported({ since: new Date(Date.now() + 60_000) })).rejects.toThrow(
      'No event in that range',
    );
    await expect(exportProof(test.service, before, options(), () => undefined)).rejects.toThrow(
      'is not empty',
    );
  });

  it('is refused while rows are gone without a reason, unless somebody wants it so', async () => {
    const rows = await test.query<{ event_id: string }>`select event_id from log_entries limit 3`;
    const ids = rows.map((row) => row.event_id);
    await test.query`create table kept as select * from log_entries where event_id = any(${ids}::uuid[])`;
    await freely(test.db, sql`delete from log_entries where event_id = any(${ids}::uuid[])`);
    const refused = await mkdtemp(path.join(log.directory, 'refused-'));
    await expect(exportProof(test.service, refused, options(), () => undefined)).rejects.toThrow(
      /^Nothing was exported.*3 findings, such as MISSING leaves: the row is gone/,
    );
    expect(await readdir(refused)).toEqual([]);
    const { summary, findings } = await verified(await exported({ withFindings: true }));
    await freely(test.db, sql`insert into log_entries select * from kept`);
    await test.query`drop table kept`;
    expect(findings.map(({ state, detail }) => `${state} ${detail}`)).toEqual(
      Array.from({ length: 3 }, () => 'MISSING the row is gone'),
    );
    expect(summary).toMatchObject({ absent: 3, intact: summary.size - 3 });
  });

  it('shows each altered byte of each of its files', async () => {
    const folder = await copyOfWhole('altered');
    const files = await filesOf(folder);
    const contents = new Map(
      await Promise.all(files.map(async (file) => [file, await readFile(file)] as const)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 1, max: 255 }),
        async (file, place, mask) => {
          fc.pre(contents.get(file)?.length !== 0);
          const bytes = Buffer.from(contents.get(file) ?? '');
          const at = Math.floor(place * bytes.length);
          bytes.writeUInt8(bytes.readUInt8(at) ^ mask, at);
          await writeFile(file, bytes);
          const { findings } = await verified(folder);
          await writeFile(file, contents.get(file) ?? '');
          expect(findings).not.toEqual([]);
        },
      ),
      { numRuns: runs(100) },
    );
    expect((await verified(folder)).findings).toEqual([]);
  });

  it('shows each missing file, and rows that were taken out with their hashes', async () => {
    const folder = await copyOfWhole('missing');
    for (const file of (await filesOf(folder)).filter((one) => !one.endsWith('manifest.json'))) {
      const content = await readFile(file);
      await rm(file);
      expect([file, (await verified(folder)).findings]).not.toEqual([file, []]);
      await writeFile(file, content);
    }
    // Whoever changes a row, and then its leaf and the manifest, does not have the tree.
    const rows = path.join(folder, 'rows.txt');
    const { summary } = await verified(folder);
    const lines = (await readFile(rows, 'utf8')).split('\n');
    await writeFile(rows, lines.toSpliced(5, 1).join('\n'));
    const { findings } = await verified(folder);
    expect(findings).toContainEqual(expect.objectContaining({ subject: 'leaves', leaves: [5, 6] }));
    expect(findings).toContainEqual(
      expect.objectContaining({ state: 'MISSING', leaves: [summary.size - 1, summary.size] }),
    );
  });

  describe('whose manifest was mended', () => {
    /** Whoever has the folder and no key changes rows, and then all that is computed from them. */
    async function mended(
      name: string,
      change: (lines: readonly string[], manifest: Manifest) => readonly string[],
      absences = '',
    ) {
      const folder = await copyOfWhole(name);
      const manifest = parseManifest(await readFile(path.join(folder, 'manifest.json'), 'utf8'));
      const lines = (await readFile(path.join(folder, 'rows.txt'), 'utf8')).split('\n');
      await writeFile(path.join(folder, 'rows.txt'), change(lines, manifest).join('\n'));
      await writeFile(path.join(folder, 'absent.txt'), absences);
      await mendManifest(folder, (mending) => {
        Object.assign(mending, { leaves: manifest.leaves, size: manifest.size });
      });
      const { findings } = await verified(folder);
      return findings.map(({ state, key, detail }) => `${state} ${key ?? 'leaves'}: ${detail}`);
    }

    const UNSIGNED = 'ALTERED manifest.note: this manifest.json is not signed with a key of the log';
    const withoutRow = (lines: readonly string[]) => lines.with(5, '5 - -');
    const textOf = (line = '') => line.replace(/^\d+ /, '');

    it.each<[string, string, Parameters<typeof mended>[1], absences?: string]>([
      ['was made absent', 'MISSING leaves: absent.txt does not say why', withoutRow],
      [
        'was made absent with a reason',
        'ERASED leaves: erased on request 7 by jane',
        withoutRow,
        '5 ERASED erased on request 7 by jane\n',
      ],
      [
        'was taken out with its leaf',
        'ALTERED manifest.json: it covers the whole log, but does not have all leaves',
        (lines, manifest) => {
          manifest.leaves = [
            [0, 5],
            [6, manifest.size],
          ];
          return lines.toSpliced(5, 1);
        },
      ],
      [
        'has the text of another',
        'ALTERED leaves: the row differs from its leaf',
        (lines) => lines.with(5, `5 ${textOf(lines[6])}`),
      ],
    ])('shows a row that %s', async (name, finding, change, absences) => {
      expect(await mended(name, change, absences)).toEqual([UNSIGNED, finding]);
    });

    it('reads no file outside of the folder', async () => {
      const folder = await copyOfWhole('outside');
      await mendManifest(folder, ({ files }) => {
        files.push({ path: '../whole/rows.txt', bytes: 0, sha256: '' });
      });
      const { findings } = await verified(folder);
      expect(findings).toMatchObject([
        { key: 'manifest.json', detail: 'it is not the manifest of an exported proof' },
      ]);
    });

    it('ends if it claims a tree that no folder has the tiles of', async () => {
      const folder = await copyOfWhole('huge');
      await mendManifest(folder, (manifest) => {
        manifest.size = 2 ** 50;
      });
      const { findings } = await verified(folder);
      const [only, ...others] = findings.map(({ key, detail }) => `${key} ${detail}`);
      expect(only).toContain('manifest.json it describes a tree of 1125899906842624 leaves');
      expect(others).toEqual([]);
    });

    it('shows a tree that was cut to fewer leaves', async () => {
      const found = await mended('cut', (lines, manifest) => {
        manifest.size -= 7;
        manifest.leaves = [[0, manifest.size]];
        return lines;
      });
      expect(found.length).toBeGreaterThan(1);
    });

    it('and signed by somebody else is shown where the key of the log is known', async () => {
      const folder = await copyOfWhole('foreign');
      const text = await readFile(path.join(folder, 'manifest.json'), 'utf8');
      const manifest = parseManifest(text);
      const stranger = parseLogKey(generateLogKey(manifest.origin));
      const own = writeManifest({ ...manifest, public_keys: [...manifest.public_keys, stranger.publicText] });
      await writeFile(path.join(folder, 'manifest.json'), own);
      const note = signNote(documentNote(manifest.origin, 'manifest.json', own), stranger);
      await writeFile(path.join(folder, 'manifest.note'), note);
      const { findings } = await verified(folder, { keys: knowing(log.key).keys });
      expect(findings).toMatchObject([
        { key: 'manifest.note', detail: 'it is signed with a key that is not in LOG_KEY_FILE' },
      ]);
    });
  });

  it('shows each file that is no part of it', async () => {
    const folder = await copyOfWhole('with-more');
    const more = [
      'more.txt',
      'rows.txt.old',
      path.join('tile', '0', 'x999'),
      path.join('time-stamps', '7.txt'),
    ];
    for (const name of more) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), 'x');
    }
    const { findings } = await verified(folder);
    expect(findings.map(({ state, key }) => `${state} ${key}`).toSorted()).toEqual(
      more.map((name) => `INSERTED ${name}`).toSorted(),
    );
  });

  it('is two commands', async () => {
    const folder = path.join(log.directory, 'by-command');
    const settings = { DATABASE_URL: test.databaseUrl, DATA_DIR: log.directory };
    const made = await endOfCommand(settings, 'export-proof', folder);
    expect(made.code).toBe(0);
    // Without a database.
    const offline = { DATABASE_URL: 'postgresql://127.0.0.1:1/none' };
    const good = await endOfCommand(offline, 'verify', folder);
    expect(good.stdout).toContain(log.key.publicText);
    expect(good.code).toBe(0);
    const rows = path.join(folder, 'rows.txt');
    await writeFile(rows, (await readFile(rows, 'utf8')).replace('"jane"', '"john"'));
    const bad = await endOfCommand(offline, 'verify', folder);
    expect(bad.stdout).toContain('ALTERED leaves, leaf 0: the row differs from its leaf');
    expect(bad.code).toBe(1);
    expect((await endOfCommand(offline, 'verify', folder, '--full')).code).toBe(2);
    expect((await endOfCommand(offline, 'verify', path.join(log.directory, 'none'))).code).toBe(2);
  });

  it.skipIf(!hasGo())('leads to proofs that Go accepts (golang-go, golang-golang-x-mod-dev)', async () => {
    const { size } = parseManifest(await readFile(path.join(whole, 'manifest.json'), 'utf8'));
    const heads = parseCheckpoints(await readFile(path.join(whole, 'checkpoints.txt'), 'utf8'));
    const tile = (level: number, number: number) => readFile(path.join(whole, tilePath(level, number, size)));
    const nodes = nodesOfTiles(tile);
    const text = (hash: Buffer) => hash.toString('base64');
    const last = heads.at(-1);
    const inclusion = await Promise.all(
      Array.from({ length: size }, async (_, Index) => ({
        Index,
        Size: size,
        Leaf: text(hashAt(await tile(0, Math.floor(Index / 256)), Index % 256)),
        Root: last && text(last.root),
        Path: (await inclusionProof(nodes, Index, size)).map(text),
      })),
    );
    const consistency = await Promise.all(
      heads.flatMap((earlier, index) =>
        heads.slice(index).map(async (later) => ({
          Earlier: earlier.size,
          Later: later.size,
          EarlierRoot: text(earlier.root),
          LaterRoot: text(later.root),
          Path: (await consistencyProof(nodes, earlier.size, later.size)).map(text),
        })),
      ),
    );
    const given = { PublicKey: log.key.publicText, Notes: heads.map(({ note }) => note) };
    expect(buildForeignCheck()({ ...given, Inclusion: inclusion, Consistency: consistency })).toContain(
      `3 notes, ${size} inclusion proofs, 6 consistency proofs`,
    );
  });
});
