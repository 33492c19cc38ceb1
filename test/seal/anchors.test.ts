import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OWN_TYPES } from '../../src/events/domain.ts';
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
} from '../../src/seal/anchors.ts';
import { findCheckpoints, parseCheckpoints } from '../../src/seal/checkpoint.ts';
import { timeOfAnswer } from '../../src/seal/time-stamp.ts';
import { readAnchors, timestampsBetween } from '../../src/store/seal/anchors.ts';
import { recordEnded } from '../../src/store/access/operator-log.ts';
import { latestCheckpoint } from '../../src/store/seal/seal-log.ts';
import { hasOpenssl } from '../support/certificates.ts';
import { storedEvent } from '../forward/formats/stored-events.ts';
import { unguarded } from '../support/database.ts';
import { buildForeignCheck, hasGo } from '../support/foreign-log.ts';
import { startTimestampAuthority } from '../support/time-stamp-authority.ts';
import { parseWitness } from '../../src/seal/cosignature.ts';
import { standIn, type Reply } from '../support/stand-in.ts';
import { startWitness } from '../support/witness.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';

const FORMATS = { cef: formatCef, leef: formatLeef, ecs: formatEcs, ocsf: formatOcsf, json: formatJson };

const test = useDatabase();
let log: SealedLog;
beforeAll(async () => {
  log = await openSealedLog(test.service);
});

/** Signs a checkpoint of something that is new in the log. */
async function checkpoint() {
  await recordEnded(test.service, { operator: { name: 'test', via: 'system' }, action: 'settings.reload' });
  return log.seal();
}
beforeEach(async () => {
  await test.query`delete from log_anchors`;
  await checkpoint();
});

/** Puts the latest checkpoint, and returns the failures. */
async function put(anchors: readonly Anchor[], retrySeconds?: number): Promise<string[]> {
  const failures: string[] = [];
  await putCheckpoint(
    test.service,
    anchors,
    (name, error) => failures.push(`${name}: ${String(error)}`),
    retrySeconds,
  );
  return failures;
}

const findings = async () => (await log.verify()).findings;

describe('the destinations', () => {
  it('are sent a checkpoint an hour, but none of the events with checkpoints alone', async () => {
    const stored: object[] = [];
    const anchor = eventAnchor(async (record) => void stored.push(record));
    const anHourLater = () =>
      test.query`update log_anchors set anchored_at = anchored_at - interval '1 hour',
      tried_at = tried_at - interval '1 hour'`;
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
    const file = path.join(log.directory, 'checkpoints.txt');
    const anchor = fileAnchor(file);
    await Promise.all([put([anchor]), put([anchor])]);
    await put([anchor]);
    const second = await checkpoint();
    await put([anchor]);
    const kept = parseCheckpoints(await readFile(file, 'utf8'));
    expect(kept).toHaveLength(2);
    expect(kept[1]?.note).toBe(second.note);
    const { summary } = await log.verify({ anchors: kept });
    expect(summary).toMatchObject({ anchors: 2, anchoredSize: second.size, altered: 0 });
  });

  it('that cannot be written is recorded, and tried again after a while', async () => {
    const file = path.join(log.directory, 'missing', 'checkpoints.txt');
    expect(await put([fileAnchor(file)])).toEqual([expect.stringMatching('file: .*ENOENT')]);
    expect(await readAnchors(test.service)).toMatchObject([{ anchor: 'file', size: 0, error: /ENOENT/ }]);
    const other = fileAnchor(path.join(log.directory, 'other.txt'));
    await put([other]);
    expect(await readAnchors(test.service)).toMatchObject([{ size: 0 }]);
    await put([other], 0);
    const { size } = (await latestCheckpoint(test.service)) ?? {};
    expect(await readAnchors(test.service)).toMatchObject([{ size, error: null }]);
  });
});

describe('an address', () => {
  it('gets each checkpoint, again after a failure, and does not hold up the others', async () => {
    let answer: Reply = { status: 503 };
    await using server = await standIn(() => answer);
    const file = fileAnchor(path.join(log.directory, 'beside.txt'));
    const anchor = urlAnchor(`${server.url}/checkpoints?token=secret`);
    expect(await put([anchor, file])).toEqual(['url: Error: the server answered 503']);
    expect(await readFile(path.join(log.directory, 'beside.txt'), 'utf8')).toContain('xiq-sink/');
    answer = { status: 200, headers: { 'content-type': 'text/html' } };
    expect(await put([anchor], 0)).toEqual([
      expect.stringContaining('an HTML page: is there a proxy in between?'),
    ]);
    answer = { status: 200, raw: Buffer.alloc(2 * 1024 * 1024) };
    expect(await put([anchor], 0)).toEqual([expect.stringContaining('sent more than')]);
    answer = { status: 201 };
    expect(await put([anchor], 0)).toEqual([]);
    expect(await put([anchor], 0)).toEqual([]);
    expect(server.received).toHaveLength(4);
    expect(server.received[3]?.body).toBe((await latestCheckpoint(test.service))?.note);
  });

  it.each([301, 302, 307, 308])('that redirects with %d fails, and nothing follows it', async (status) => {
    await using elsewhere = await standIn(() => ({}));
    await using server = await standIn(() => ({ status, headers: { location: elsewhere.url } }));
    expect(await put([urlAnchor(server.url)])).toEqual([expect.stringContaining('url: ')]);
    expect(elsewhere.received).toEqual([]);
  });
});

describe.skipIf(!hasOpenssl)('a time-stamp authority (openssl)', () => {
  it('stamps a checkpoint at most once an hour, and openssl and verify accept it', async () => {
    await using authority = await startTimestampAuthority();
    const anchor = timestampAnchor(test.service, authority.url);
    authority.fail(500);
    expect(await put([anchor])).toEqual([expect.stringContaining('500')]);
    authority.fail(undefined);
    expect(await put([anchor], 0)).toEqual([]);
    const { size } = await checkpoint();
    expect(await put([anchor], 0)).toEqual([]);
    const [stamp, ...others] = await timestampsBetween(test.service, 0, size);
    expect(others).toEqual([]);
    if (stamp === undefined) throw new Error('there is no time-stamp');
    expect(Math.abs(stamp.madeAt.getTime() - Date.now())).toBeLessThan(120_000);
    authority.verify(stamp.token, stamp.note);
    expect(() => authority.verify(stamp.token, `${stamp.note}x`)).toThrow('openssl ts -verify');
    expect(() => timeOfAnswer(stamp.token, `${stamp.note}x`)).toThrow('belongs to another checkpoint');
    expect(() => timeOfAnswer(Buffer.from('<html>'), stamp.note)).toThrow('not an answer');
    expect(await findings()).toEqual([]);
    await test.query`update log_anchors set anchored_at = now() - interval '1 hour'`;
    expect(await put([anchor], 0)).toEqual([]);
    expect(await timestampsBetween(test.service, 0, size)).toHaveLength(2);
  });
});

describe('a witness', () => {
  it('signs each checkpoint after a proof that the tree has only grown', async () => {
    await using witness = await startWitness();
    const anchor = witnessAnchor(test.service, parseWitness(witness.publicKey, witness.url));
    for (let count = 0; count < 3; count += 1) {
      expect(await put([anchor])).toEqual([]);
      await checkpoint();
    }
    // It answers with the size that it has instead.
    witness.forget();
    expect(await put([anchor])).toEqual([]);
    const { note = '', size } = (await latestCheckpoint(test.service)) ?? {};
    expect(note.match(/^— .*$/gm)).toEqual([
      expect.stringContaining('xiq-sink/'),
      expect.stringContaining('witness.test '),
    ]);
    expect(parseCheckpoints(note)).toMatchObject([{ size }]);
    expect(await findings()).toEqual([]);
    expect(witness.proofs).toHaveLength(2);
    if (!hasGo()) return;
    const given = { PublicKey: log.key.publicText, Notes: [note], Consistency: witness.proofs };
    expect(buildForeignCheck()(given)).toContain('1 notes, 0 inclusion proofs, 2 consistency proofs');
  });

  it('that has this very checkpoint already signs it again', async () => {
    await using witness = await startWitness();
    const anchor = witnessAnchor(test.service, parseWitness(witness.publicKey, witness.url));
    expect(await put([anchor])).toEqual([]);
    // As after a restored backup: nothing here says what the witness has.
    await test.db.deleteFrom('log_anchors').execute();
    expect(await put([anchor])).toEqual([]);
    const { note } = await log.seal();
    expect(note.match(/^— witness\.test /gm)).toHaveLength(1);
  });

  it('whose signature is of another key, or that knows a larger tree, is a failure', async () => {
    await using witness = await startWitness();
    await using other = await startWitness();
    const wrong = witnessAnchor(test.service, parseWitness(other.publicKey, witness.url));
    expect(await put([wrong])).toEqual([
      expect.stringContaining('no valid signature by the witness witness.test'),
    ]);
    await using larger = await standIn(() => ({ status: 409, raw: '1000000\n' }));
    const anchor = witnessAnchor(test.service, parseWitness(witness.publicKey, larger.url));
    expect(await put([anchor], 0)).toEqual([expect.stringContaining('run verify')]);
    expect(() => parseWitness(log.key.publicText.slice(0, -4), larger.url)).toThrow(
      'not a signed-note public key',
    );
  });
});

describe.skipIf(!hasOpenssl)('verify (openssl)', () => {
  it('names a damaged time-stamp, and a tree that differs from what was stamped', async () => {
    await using authority = await startTimestampAuthority();
    const { size } = await checkpoint();
    expect(await put([timestampAnchor(test.service, authority.url)])).toEqual([]);
    const change = (from: string, to: string) =>
      unguarded(
        test.db,
        sql`update log_timestamps set note = replace(note, ${from}, ${to}) where size = ${size}::bigint`,
      );
    await change('time 2', 'time 3');
    expect(await findings()).toMatchObject([{ state: 'ALTERED', subject: 'time-stamp' }]);
    await change('time 3', 'time 2');
    expect(await findings()).toEqual([]);
    const move = (by: string) =>
      unguarded(
        test.db,
        sql`update log_timestamps set made_at = made_at + ${by}::interval where size = ${size}::bigint`,
      );
    await move('-1 day');
    expect(await findings()).toMatchObject([{ state: 'ALTERED', subject: 'time-stamp' }]);
    await move('1 day');
    // Whoever makes the tree and the checkpoints anew does not have the authority's key.
    await test.query`update log_hashes set hashes = set_byte(hashes, 4, 255 - get_byte(hashes, 4)) where level = 0`;
    await test.query`delete from log_checkpoints`;
    expect(await findings()).toContainEqual(
      expect.objectContaining({ subject: 'time-stamp', state: 'ALTERED' }),
    );
  });
});
