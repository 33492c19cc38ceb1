import { hash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findCheckpoints, parseCheckpoints, writeCheckpoint } from '../../src/seal/checkpoint.ts';
import { findCosignature, parseWitness } from '../../src/seal/cosignature.ts';
import { consistencyProof, rootAt, rootsOfConsistency } from '../../src/seal/merkle-tree.ts';
import { generateLogKey, parseLogKey, parseVerifier, type LogKey } from '../../src/seal/signed-note.ts';
import { createWitness } from '../../src/seal/witness.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { readForks } from '../../src/store/seal/witnessed-logs.ts';
import { serve } from '../ingest/serve.ts';
import { buildForeignCheck, hasGo } from '../support/foreign-log.ts';
import { growTree } from '../support/grow-tree.ts';
import { useDatabase } from '../support/use-database.ts';

const SIZE = 300;
const tree = growTree(SIZE);
/** The same up to its 150th leaf. */
const fork = growTree(SIZE, (index) => (index < 150 ? `entry ${index}` : `other ${index}`));

const test = useDatabase();
const WITNESS = parseLogKey(generateLogKey('xiq-sink/witness'));
const witness = parseWitness(WITNESS.publicText, 'https://witness.example');

let logs = 0;
/** A witness of a new log, and the key of the log. */
function witnessOfLog(db = test.service, key = parseLogKey(generateLogKey(`xiq-sink/log-${(logs += 1)}`))) {
  return { key, service: createWitness(db, [parseVerifier(key.publicText)], async () => WITNESS) };
}

const noteOf = async (key: LogKey, size: number, { read } = tree) =>
  writeCheckpoint(size, await rootAt(read, size), new Date(), key);

const requestOf = (old: number, proof: readonly Buffer[], note: string) =>
  [`old ${old}`, ...proof.map((one) => one.toString('base64')), '', note].join('\n');

/** A request with the right proof. */
const growing = async (key: LogKey, from: number, to: number, of = tree) =>
  requestOf(from, await consistencyProof(of.read, from, to), await noteOf(key, to, of));

const refused = (status: number): unknown => expect.objectContaining({ status });

describe('a witness', () => {
  it('signs each tree that contains the one before, and no other', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 0, max: SIZE }), fc.boolean()), { minLength: 2, maxLength: 6 }),
        async (steps) => {
          const { key, service } = witnessOfLog();
          let known = { size: 0, tree };
          for (const [size, isOther] of steps) {
            const next = { size, tree: isOther ? fork : tree };
            const isContained = size >= known.size && (known.tree === next.tree || known.size <= 150);
            const old = Math.min(known.size, size);
            const answer = await service
              .addCheckpoint(await growing(key, old, size, next.tree))
              .catch((error: unknown) => error);
            const signed = { line: expect.any(String) as unknown };
            const expected = isContained ? signed : refused(422);
            expect(answer).toEqual(size < known.size ? { known: known.size } : expected);
            if (isContained) known = next;
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  it.skipIf(!hasGo())('signs what Go accepts (golang-go, golang-golang-x-mod-dev)', async () => {
    const { key, service } = witnessOfLog();
    const request = await growing(key, 0, 7);
    const answer = await service.addCheckpoint(request);
    const note = `${request.slice('old 0\n\n'.length)}${'line' in answer ? answer.line : ''}\n`;
    const kept = await service.latest(hash('sha256', key.name));
    expect(kept).toBe(note);
    const given = { PublicKey: key.publicText, Witness: WITNESS.publicText };
    const check = buildForeignCheck();
    expect(check({ ...given, Notes: [note] })).toContain('1 notes');
    expect(() => check({ ...given, Notes: [note.replace('\ntime 2', '\ntime 3')] })).toThrow('note');
    expect(() => check({ ...given, Witness: key.publicText, Notes: [note] })).toThrow('note');
  });

  it('refuses what the specification says, with its status', async () => {
    const { key, service } = witnessOfLog();
    await service.addCheckpoint(await growing(key, 0, 100));
    const [note, larger] = [await noteOf(key, 100), await noteOf(key, 200)];
    const proof = await consistencyProof(tree.read, 100, 200);
    const stranger = parseLogKey(generateLogKey(key.name));
    const cases: [number, string][] = [
      [404, await growing(parseLogKey(generateLogKey('xiq-sink/unknown')), 0, 5)],
      [403, await growing(stranger, 0, 5)],
      [403, requestOf(100, proof, larger.replace('\n200\n', '\n201\n'))],
      [400, requestOf(101, [], note)],
      [400, 'old 0'],
      [400, requestOf(100, proof, `${larger}\n${larger}`)],
      [
        400,
        requestOf(
          100,
          Array.from({ length: 64 }, () => Buffer.alloc(32)),
          larger,
        ),
      ],
      [400, (await growing(key, 100, 200)).replaceAll('\n', '\r\n')],
      [422, requestOf(100, proof.slice(1), larger)],
      [422, requestOf(100, [...proof, Buffer.alloc(32)], larger)],
      [422, requestOf(100, proof, note)],
    ];
    for (const [status, request] of cases) {
      await expect(service.addCheckpoint(request)).rejects.toEqual(refused(status));
    }
    expect(await service.addCheckpoint(requestOf(0, [], larger))).toEqual({ known: 100 });
    const empty = writeCheckpoint(0, Buffer.alloc(32), new Date(), witnessOfLog().key);
    await expect(service.addCheckpoint(requestOf(0, [], empty))).rejects.toEqual(refused(404));
    const other = witnessOfLog();
    const wrong = writeCheckpoint(0, Buffer.alloc(32), new Date(), other.key);
    await expect(other.service.addCheckpoint(requestOf(0, [], wrong))).rejects.toEqual(refused(422));
    // Whatever was sent: nothing of it proves a fork.
    expect(await readForks(test.service, [key.publicText])).toEqual([]);
    await expect(service.addCheckpoint(await growing(key, 100, 200))).resolves.toHaveProperty('line');
  });

  it.each([
    ['a larger tree', 200],
    ['a tree of the same size', 170],
  ])('keeps both checkpoints of a fork, in %s, and the proof', async (_, size) => {
    const { key, service } = witnessOfLog();
    await service.addCheckpoint(await growing(key, 0, 170));
    const request = await growing(key, 170, size, fork);
    await expect(service.addCheckpoint(request)).rejects.toEqual(refused(422));
    expect(await readForks(test.service, [key.publicText, 'other'])).toEqual([key.publicText]);
    const row = await test.db
      .selectFrom('witnessed_logs')
      .selectAll()
      .where('public_key', '=', key.publicText)
      .executeTakeFirstOrThrow();
    // Others can see it for themselves: both are signed, and the proof leads from the second to another beginning.
    const [one, other] = [row.note, request.slice(request.indexOf('\n\n') + 2)].flatMap((note) =>
      parseCheckpoints(note),
    );
    expect(row.fork).toBe(`${row.note}\n${request}`);
    expect(
      findCheckpoints(row.fork?.replaceAll(key.name, `xiq-sink/${crypto.randomUUID()}`) ?? ''),
    ).toHaveLength(2);
    const proof = await consistencyProof(fork.read, 170, size);
    const roots = rootsOfConsistency(170, one?.root ?? Buffer.alloc(0), size, proof);
    const found = size > 170 ? roots : { earlier: other?.root, later: other?.root };
    expect(found?.later).toEqual(other?.root);
    expect(found?.earlier).not.toEqual(one?.root);
    // The first proof stays, and the tree that was signed may go on.
    await expect(service.addCheckpoint(await growing(key, 170, 300, fork))).rejects.toEqual(refused(422));
    expect(await service.addCheckpoint(await growing(key, 170, 250))).toHaveProperty('line');
    const { fork: kept } = await test.db
      .selectFrom('witnessed_logs')
      .select('fork')
      .where('public_key', '=', key.publicText)
      .executeTakeFirstOrThrow();
    expect(kept).toBe(row.fork);
  });

  it('signs one of two trees that come to two processes at once', async () => {
    await using second = openDatabase(test.databaseUrl, () => undefined);
    for (const from of [0, 20, 170]) {
      const { key, service } = witnessOfLog();
      const { service: elsewhere } = witnessOfLog(second, key);
      if (from > 0) await service.addCheckpoint(await growing(key, 0, from));
      const requests = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          growing(key, from, 180 + at, at % 2 === 0 || from > 150 ? tree : fork),
        ),
      );
      const answers = await Promise.all(
        requests.map((request, at) => (at % 4 < 2 ? service : elsewhere).addCheckpoint(request)),
      );
      expect(answers.filter((answer) => 'line' in answer)).toHaveLength(1);
    }
  });

  it('begins anew with another key of a log, which a person has set', async () => {
    const { key, service } = witnessOfLog();
    await service.addCheckpoint(await growing(key, 0, 170));
    const next = parseLogKey(generateLogKey(key.name));
    const both = [next, key].map(({ publicText }) => parseVerifier(publicText));
    const after = createWitness(test.service, both, async () => WITNESS);
    expect(await after.addCheckpoint(await growing(next, 0, 160, fork))).toHaveProperty('line');
    expect(await after.addCheckpoint(await growing(key, 0, 200))).toEqual({ known: 170 });
  });
});

describe('the listener', () => {
  it('answers requests to a witness, which have a size and a rate', async () => {
    const { key, service } = witnessOfLog();
    const { request, log } = await serve({ witness: service });
    const add = (body: string) => request('/add-checkpoint', { method: 'POST', body });
    const first = await growing(key, 0, 9);
    const signed = await add(first);
    expect(signed.status).toBe(200);
    expect(signed.headers.get('x-content-type-options')).toBe('nosniff');
    const note = `${first.slice('old 0\n\n'.length)}${await signed.text()}`;
    expect(findCosignature(note, witness)?.time.getTime()).toBeCloseTo(Date.now(), -4);
    const conflict = await add(first);
    expect(conflict.status).toBe(409);
    expect(conflict.headers.get('content-type')).toBe('text/x.tlog.size');
    expect(await conflict.text()).toBe('9\n');
    const latest = await request(`/${hash('sha256', key.name)}/checkpoint`, {});
    expect(await latest.text()).toBe(note);
    expect((await request(`/${hash('sha256', 'other')}/checkpoint`, {})).status).toBe(404);
    expect((await add(`${first}${' '.repeat(20_000)}`)).status).toBe(400);
    const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await add('old 0')).status));
    expect(new Set(statuses)).toEqual(new Set([400, 429]));
    expect(log()).not.toContain('internal error');
  });

  it('is no witness unless told so', async () => {
    const { request } = await serve();
    expect((await request('/add-checkpoint', { method: 'POST', body: 'old 0' })).status).toBe(404);
  });

  it('without a key, or a database, asks to try again', async () => {
    const key = parseLogKey(generateLogKey('xiq-sink/keyless'));
    const keyless = createWitness(test.service, [parseVerifier(key.publicText)], async () => undefined);
    await expect(keyless.addCheckpoint(await growing(key, 0, 5))).rejects.toEqual(refused(503));
  });
});
