import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OWN_TYPES } from '../../src/domain.ts';
import { formatCef } from '../../src/forward/formats/cef.ts';
import { formatEcs } from '../../src/forward/formats/ecs.ts';
import { formatJson } from '../../src/forward/formats/json.ts';
import { formatLeef } from '../../src/forward/formats/leef.ts';
import { formatOcsf } from '../../src/forward/formats/ocsf.ts';
import {
  eventAnchor,
  fileAnchor,
  putCheckpoint,
  timestampAnchor,
  urlAnchor,
  witnessAnchor,
  type Anchor,
} from '../../src/ledger/anchors.ts';
import { findCheckpoints, parseCheckpoints } from '../../src/ledger/checkpoint.ts';
import type { VerifyFinding } from '../../src/ledger/finding.ts';
import { createSealer } from '../../src/ledger/sealer.ts';
import type { LogKey } from '../../src/ledger/signed-note.ts';
import { timeOfAnswer } from '../../src/ledger/time-stamp.ts';
import { verifyLog } from '../../src/ledger/verify-log.ts';
import { parseWitness } from '../../src/ledger/witness.ts';
import { keepLogKey } from '../../src/serve/log-key.ts';
import { readAnchors, timestampsBetween } from '../../src/store/anchors.ts';
import { openDatabase, type Db } from '../../src/store/database.ts';
import { readInstallation } from '../../src/store/installation.ts';
import { recordEnded } from '../../src/store/operator-log.ts';
import { latestCheckpoint } from '../../src/store/seal-log.ts';
import { startAnsweringServer } from '../support/answering-server.ts';
import { hasOpenssl } from '../support/certificates.ts';
import { storedEvent } from '../forward/formats/stored-events.ts';
import { createTestDatabase, unguarded, type TestDatabase } from '../support/database.ts';
import { buildForeignCheck, hasGo } from '../support/foreign-log.ts';
import { startTimestampAuthority } from '../support/time-stamp-authority.ts';
import { startWitness } from '../support/witness.ts';

const FORMATS = { cef: formatCef, leef: formatLeef, ecs: formatEcs, ocsf: formatOcsf, json: formatJson };

let test: TestDatabase;
let service: Db;
let directory: string;
let key: LogKey;
beforeAll(async () => {
  test = await createTestDatabase();
  service = openDatabase(test.databaseUrl, () => undefined);
  directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-anchors-'));
  key = await keepLogKey(path.join(directory, 'log-key'), (await readInstallation(service)).id);
});
afterAll(async () => {
  await service.destroy();
  await test.drop();
  await rm(directory, { recursive: true });
});

/** Seals something, and signs a checkpoint of it. */
async function checkpoint() {
  await recordEnded(service, { operator: { name: 'test', via: 'system' }, action: 'settings.reload' });
  const sealer = createSealer(service, key);
  while ((await sealer.seal()) === 'more');
  await sealer.checkpoint();
  const latest = await latestCheckpoint(service);
  if (latest === undefined) throw new Error('there is no checkpoint');
  return latest;
}
beforeEach(async () => {
  await sql`delete from log_anchors`.execute(test.db);
  await checkpoint();
});

/** Puts the latest checkpoint, and returns the failures. */
async function put(anchors: readonly Anchor[], retrySeconds?: number): Promise<string[]> {
  const failures: string[] = [];
  await putCheckpoint(
    service,
    anchors,
    (name, error) => failures.push(`${name}: ${String(error)}`),
    retrySeconds,
  );
  return failures;
}

async function findings(): Promise<readonly VerifyFinding[]> {
  const found: VerifyFinding[] = [];
  await verifyLog(
    service,
    { anchors: [] },
    (one) => found.push(one),
    () => undefined,
  );
  return found;
}

describe('the destinations', () => {
  it('are sent a checkpoint an hour, but none of the events with checkpoints alone', async () => {
    const stored: object[] = [];
    const anchor = eventAnchor(async (record) => void stored.push(record));
    const anHourLater = () =>
      sql`update log_anchors set anchored_at = anchored_at - interval '1 hour',
      tried_at = tried_at - interval '1 hour'`.execute(test.db);
    await put([anchor]);
    expect(stored).toEqual([]);
    const second = await checkpoint();
    await put([anchor]);
    expect(stored).toEqual([]);
    await anHourLater();
    await put([anchor]);
    expect(stored).toMatchObject([{ description: second.note }]);
    // The leaf of that event.
    await checkpoint();
    await anHourLater();
    await put([anchor]);
    expect(stored).toHaveLength(1);
    await checkpoint();
    await put([anchor]);
    expect(stored).toHaveLength(2);
  });

  it.each(Object.entries(FORMATS))('receive it as %s, where verify finds it', async (_, format) => {
    const { note } = await checkpoint();
    const own = { sent_type: OWN_TYPES.checkpoint };
    const event = {
      ...storedEvent('OTHER', { timeStamp: Date.now(), description: note }),
      origin: 'xiq-sink' as const,
      columns: own,
    };
    const text = format(event);
    const exported = [`<13>1 2026-11-23T10:00:00Z host app - - - ${text}`, JSON.stringify({ _raw: text })];
    expect(findCheckpoints(exported.join('\n')).map((one) => one.note)).toEqual([note]);
    expect(findCheckpoints(format({ ...event, columns: {}, payload: {} }))).toEqual([]);
  });
});

describe('a file', () => {
  it('gets each checkpoint once, and verify reads them', async () => {
    const file = path.join(directory, 'checkpoints.txt');
    const anchor = fileAnchor(file);
    await Promise.all([put([anchor]), put([anchor])]);
    await put([anchor]);
    const second = await checkpoint();
    await put([anchor]);
    const kept = parseCheckpoints(await readFile(file, 'utf8'));
    expect(kept).toHaveLength(2);
    expect(kept[1]?.note).toBe(second.note);
    const summary = await verifyLog(
      service,
      { anchors: kept },
      () => undefined,
      () => undefined,
    );
    expect(summary).toMatchObject({ anchors: 2, anchoredSize: second.size, altered: 0 });
  });

  it('that cannot be written is recorded, and tried again after a while', async () => {
    const file = path.join(directory, 'missing', 'checkpoints.txt');
    expect(await put([fileAnchor(file)])).toEqual([expect.stringMatching('file: .*ENOENT')]);
    expect(await readAnchors(service)).toMatchObject([{ anchor: 'file', size: 0, error: /ENOENT/ }]);
    const other = fileAnchor(path.join(directory, 'other.txt'));
    await put([other]);
    expect(await readAnchors(service)).toMatchObject([{ size: 0 }]);
    await put([other], 0);
    const { size } = (await latestCheckpoint(service)) ?? {};
    expect(await readAnchors(service)).toMatchObject([{ size, error: null }]);
  });
});

describe('an address', () => {
  it('gets each checkpoint, again after a failure, and does not hold up the others', async () => {
    const posted: string[] = [];
    let status = 503;
    await using server = await startAnsweringServer((body) => {
      posted.push(body.toString());
      return { status };
    });
    const file = fileAnchor(path.join(directory, 'beside.txt'));
    const anchor = urlAnchor(`${server.url}/checkpoints?token=secret`);
    expect(await put([anchor, file])).toEqual(['url: Error: the server answered 503']);
    expect(await readFile(path.join(directory, 'beside.txt'), 'utf8')).toContain('xiq-sink/');
    status = 201;
    expect(await put([anchor], 0)).toEqual([]);
    expect(await put([anchor], 0)).toEqual([]);
    expect(posted).toHaveLength(2);
    expect(posted[1]).toBe((await latestCheckpoint(service))?.note);
  });
});

describe.skipIf(!hasOpenssl)('a time-stamp authority (openssl)', () => {
  it('stamps a checkpoint at most once an hour, and openssl and verify accept it', async () => {
    await using authority = await startTimestampAuthority();
    const anchor = timestampAnchor(service, authority.url);
    authority.fail(500);
    expect(await put([anchor])).toEqual([expect.stringContaining('500')]);
    authority.fail(undefined);
    expect(await put([anchor], 0)).toEqual([]);
    const { size } = await checkpoint();
    expect(await put([anchor], 0)).toEqual([]);
    const [stamp, ...others] = await timestampsBetween(service, 0, size);
    expect(others).toEqual([]);
    if (stamp === undefined) throw new Error('there is no time-stamp');
    expect(Math.abs(stamp.madeAt.getTime() - Date.now())).toBeLessThan(120_000);
    authority.verify(stamp.token, stamp.note);
    expect(() => authority.verify(stamp.token, `${stamp.note}x`)).toThrow('openssl ts -verify');
    expect(() => timeOfAnswer(stamp.token, `${stamp.note}x`)).toThrow('not of this checkpoint');
    expect(() => timeOfAnswer(Buffer.from('<html>'), stamp.note)).toThrow('not an answer');
    expect(await findings()).toEqual([]);
    await sql`update log_anchors set anchored_at = now() - interval '1 hour'`.execute(test.db);
    expect(await put([anchor], 0)).toEqual([]);
    expect(await timestampsBetween(service, 0, size)).toHaveLength(2);
  });
});

describe('a witness', () => {
  it('signs each checkpoint after a proof that the tree has only grown', async () => {
    await using witness = await startWitness();
    const anchor = witnessAnchor(service, parseWitness(witness.publicKey, witness.url));
    for (let count = 0; count < 3; count += 1) {
      expect(await put([anchor])).toEqual([]);
      await checkpoint();
    }
    // It answers with the size that it has instead.
    witness.forget();
    expect(await put([anchor])).toEqual([]);
    const { note = '', size } = (await latestCheckpoint(service)) ?? {};
    expect(note.match(/^— .*$/gm)).toEqual([
      expect.stringContaining('xiq-sink/'),
      expect.stringContaining('witness.test '),
    ]);
    expect(parseCheckpoints(note)).toMatchObject([{ size }]);
    expect(await findings()).toEqual([]);
    expect(witness.proofs).toHaveLength(2);
    if (!hasGo()) return;
    const given = { PublicKey: key.publicText, Notes: [note], Consistency: witness.proofs };
    expect(buildForeignCheck()(given)).toContain('1 notes, 0 inclusion proofs, 2 consistency proofs');
  });

  it('whose signature is of another key, or that knows a larger tree, is a failure', async () => {
    await using witness = await startWitness();
    await using other = await startWitness();
    const wrong = witnessAnchor(service, parseWitness(other.publicKey, witness.url));
    expect(await put([wrong])).toEqual([
      expect.stringContaining('no valid signature of the witness witness.test'),
    ]);
    await using larger = await startAnsweringServer(() => ({ status: 409, body: '1000000\n' }));
    const anchor = witnessAnchor(service, parseWitness(witness.publicKey, larger.url));
    expect(await put([anchor], 0)).toEqual([expect.stringContaining('run verify')]);
    expect(() => parseWitness(key.publicText, larger.url)).toThrow('not a public key of a witness');
  });
});

describe.skipIf(!hasOpenssl)('verify (openssl)', () => {
  it('names a damaged time-stamp, and a tree that differs from what was stamped', async () => {
    await using authority = await startTimestampAuthority();
    const { size } = await checkpoint();
    expect(await put([timestampAnchor(service, authority.url)])).toEqual([]);
    const change = (from: string, to: string) =>
      unguarded(test.db, (trx) =>
        sql`update log_timestamps set note = replace(note, ${from}, ${to}) where size = ${size}::bigint`.execute(
          trx,
        ),
      );
    await change('time 2', 'time 3');
    expect(await findings()).toMatchObject([{ state: 'ALTERED', subject: 'time-stamp' }]);
    await change('time 3', 'time 2');
    expect(await findings()).toEqual([]);
    // Whoever makes the tree and the checkpoints anew does not have the authority's key.
    await sql`update log_hashes set hashes = overlay(hashes placing '\\x00'::bytea from 5) where level = 0`.execute(
      test.db,
    );
    await sql`delete from log_checkpoints`.execute(test.db);
    expect(await findings()).toContainEqual(
      expect.objectContaining({ subject: 'time-stamp', state: 'ALTERED' }),
    );
  });
});
