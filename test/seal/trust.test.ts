import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { checkSeal } from '../../src/commands/doctor/seal.ts';
import { keepLogKey } from '../../src/seal/log-key.ts';
import { parseCheckpoints, writeCheckpoint } from '../../src/seal/checkpoint.ts';
import { createFrontier, HASH_BYTES, hashAt } from '../../src/seal/merkle-tree.ts';
import { proveEvent } from '../../src/seal/prove-event.ts';
import { createSealer } from '../../src/seal/sealer.ts';
import { acceptDatabase, compareWithSeen, keepSeen } from '../../src/seal/seen-checkpoint.ts';
import { generateLogKey, parseLogKey, type LogKey } from '../../src/seal/signed-note.ts';
import { readTrust, seenFileOf, type Trust } from '../../src/seal/trust.ts';
import { createTreeCheck } from '../../src/seal/verify/verify-tree.ts';
import type { VerifyFinding } from '../../src/seal/verify/finding.ts';
import { isProven } from '../../src/seal/verify/verify-log.ts';
import { findEvent } from '../../src/store/events/search-events.ts';
import { readLeafHashes } from '../../src/store/seal/read-seals.ts';
import { latestCheckpoint, readSealState } from '../../src/store/seal/seal-log.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { accessTo } from '../commands/doctor/access-to.ts';
import { storeAudits } from '../support/actions.ts';
import { useDatabase } from '../support/use-database.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { freely } from '../support/tamper.ts';
import { knowing, NO_ANCHORS, nothingKnown } from '../support/trust.ts';
import { untilSeen } from '../support/until-seen.ts';

/** How much the first checkpoint has, which this machine has seen. */
const EVENTS = 300;

const test = useDatabase({ forEach: true });
let log: SealedLog;
let trust: () => Promise<Trust>;

beforeEach(async () => {
  log = await openSealedLog(test.service);
  trust = () => readTrust({ dataDir: log.directory, logKeyFile: undefined, ...NO_ANCHORS });
  await store(EVENTS);
  await log.seal();
  await keepSeen(test.service, seenFileOf(log.directory), await trust());
});

const store = (count: number) =>
  storeAudits(test.service, ...Array.from({ length: count }, (_, code) => ({ code })));

/** Changes an event and makes the whole tree anew, so that nothing in the database shows it; signs it, if with a key. */
async function rewrite(key: LogKey | undefined): Promise<void> {
  await freely(
    test.db,
    sql`update audit_events set user_name = 'nobody' where code = 7`,
    sql`truncate log_checkpoints, log_hashes, log_salts, log_seals`,
    sql`update log_seal_state set size = 0, first_position = 0, next_position = 0`,
  );
  await untilSeen(test.db);
  const stranger = key ?? parseLogKey(generateLogKey(log.key.name));
  const sealer = createSealer(test.db, stranger, async () => knowing(stranger));
  while ((await sealer.seal()) === 'more');
  await sealer.checkpoint();
  if (key === undefined) await test.query`delete from log_checkpoints`;
}

async function eventOf(code: number) {
  const rows = await test.query<{ id: string }>`select event_id as id from audit_events where code = ${code}`;
  const event = await findEvent(test.service, ALL_SOURCES, rows[0]?.id ?? '');
  if (event === undefined) throw new Error('there is no such event');
  return event;
}

const ownSealer = () => createSealer(test.service, log.key, trust);

it('doctor accepts the seal only with a key of the log', async () => {
  const check = (dataDir: string) =>
    checkSeal(accessTo(test), { dataDir, logKeyFile: undefined, ...NO_ANCHORS });
  expect(await check(log.directory)).toMatchObject({ status: 'ok' });
  expect(await check(path.join(log.directory, 'none'))).toMatchObject({ status: 'warn' });
});

it('prove says when a checkpoint was signed by what is signed, not by the column beside it', async () => {
  const [signed] = parseCheckpoints((await latestCheckpoint(test.service))?.note ?? '');
  await freely(test.db, (trx) =>
    sql`update log_checkpoints set made_at = made_at - interval '400 days'`.execute(trx),
  );
  const { signedAt } = await proveEvent(test.service, await eventOf(8), await trust());
  expect(signedAt).toEqual(signed?.time);
});

describe('history that was made anew', () => {
  it('and signed with another key: verify names the checkpoint, prove and the sealer refuse', async () => {
    await rewrite(parseLogKey(generateLogKey(log.key.name)));
    const { findings, summary } = await log.verify({ trust: await trust() });
    expect(findings).toContainEqual(
      expect.objectContaining({ state: 'ALTERED', subject: 'seen checkpoint' }),
    );
    const named = findings.find(({ subject }) => subject === 'checkpoint');
    expect(named?.detail).toContain('a key that is not in LOG_KEY_FILE');
    expect(isProven(summary)).toBe(false);
    await expect(proveEvent(test.service, await eventOf(8), await trust())).rejects.toThrow(
      'differs from its seal',
    );
    await store(1);
    await untilSeen(test.service);
    const sealer = ownSealer();
    while ((await sealer.seal()) === 'more');
    await expect(sealer.checkpoint()).rejects.toThrow('a key that is not in LOG_KEY_FILE');
    expect(await compareWithSeen(test.service, await trust())).toContain('The log was rebuilt');
  });

  it('without a signature: the sealer does not sign it with the real key', async () => {
    await rewrite(undefined);
    const { findings } = await log.verify({ trust: await trust() });
    expect(findings).toMatchObject([
      { state: 'ALTERED', subject: 'seen checkpoint', leaves: [0, EVENTS] },
      { state: 'MISSING', subject: 'checkpoint', leaves: [0, EVENTS] },
    ]);
    await expect(ownSealer().checkpoint()).rejects.toThrow('which this machine has seen: run verify');
    expect(await latestCheckpoint(test.service)).toBeUndefined();
    expect(await keepSeen(test.service, seenFileOf(log.directory), await trust())).toContain('was rebuilt');
  });

  it('and signed with the real key: what this machine has seen tells, nothing else can', async () => {
    await rewrite(log.key);
    expect((await log.verify({ trust: await trust() })).findings).toMatchObject([
      { state: 'ALTERED', subject: 'seen checkpoint' },
    ]);
    expect((await log.verify()).findings).toEqual([]);
  });
});

describe('verify', () => {
  it('is green for what a known key has signed, and says with which', async () => {
    const { findings, summary } = await log.verify({ trust: await trust() });
    expect(findings).toEqual([]);
    expect(isProven(summary)).toBe(true);
    expect(summary.signedWith).toMatchObject([{ publicKey: log.key.publicText }]);
    expect(summary.signedSize).toBe(summary.size);
  });

  it('is not green without a key to compare the signatures with', async () => {
    const { findings, summary } = await log.verify({ trust: await nothingKnown() });
    expect(findings).toEqual([]);
    expect(isProven(summary)).toBe(false);
    expect(summary.doubts).toEqual([expect.stringContaining('This machine has no key of this log')]);
  });

  it('is not green for what no checkpoint has for longer than ten minutes', async () => {
    await store(5);
    await untilSeen(test.service);
    expect((await log.verify()).summary).toMatchObject({ doubts: [] });
    await freely(
      test.db,
      sql`update deliveries set stored_at = stored_at - interval '11 minutes' where event_count = 5`,
    );
    await untilSeen(test.service);
    const { summary } = await log.verify();
    expect(summary.doubts).toEqual([expect.stringContaining('No checkpoint contains the data stored since')]);
    expect(isProven(summary)).toBe(false);
  });

  it('does not take a checkpoint that is signed while it runs for a tree that was cut', async () => {
    const { size, signed } = await readSealState(test.service);
    const found: VerifyFinding[] = [];
    const outside = { anchors: [], trust: await trust() };
    const tree = createTreeCheck(test.service, { size, lastSigned: signed }, outside, (one) =>
      found.push(one),
    );
    await store(40);
    await log.seal();
    await tree.append(await readLeafHashes(test.service, 0, size));
    expect(await tree.end()).toMatchObject({ checkpoints: 1, signedSize: size });
    expect(found).toEqual([]);
  });
});

it('verify names the leaves between the last anchor that agrees and the first that does not', async () => {
  const leaves = await readLeafHashes(test.service, 0, EVENTS);
  const anchorAt = (size: number) => {
    const frontier = createFrontier(() => undefined);
    for (let leaf = 0; leaf < size; leaf += 1) frontier.append(hashAt(leaves, leaf));
    return parseCheckpoints(writeCheckpoint(size, frontier.root(), new Date(), log.key));
  };
  const right = [...anchorAt(50), ...anchorAt(100)];
  leaves.fill(0, 150 * HASH_BYTES, 151 * HASH_BYTES);
  const { findings, summary } = await log.verify({ anchors: [...right, ...anchorAt(200), ...anchorAt(250)] });
  expect(findings).toMatchObject([
    { state: 'ALTERED', subject: 'anchor', leaves: [100, 200] },
    { state: 'ALTERED', subject: 'anchor' },
  ]);
  expect(summary).toMatchObject({ anchors: 2, anchoredSize: 100 });
});

describe('the key of the log', () => {
  it('may be changed by who keeps the earlier public key: verify says since when', async () => {
    const file = path.join(log.directory, 'log-key');
    await writeFile(file, log.key.publicText);
    const next = await keepLogKey(file, log.key.name.slice('xiq-sink/'.length), log.key.publicText);
    expect((await readFile(file, 'utf8')).trim().split('\n')).toHaveLength(2);
    await store(5);
    await untilSeen(test.service);
    const sealer = createSealer(test.service, next, trust);
    while ((await sealer.seal()) === 'more');
    await sealer.checkpoint();
    const { findings, summary } = await log.verify({ trust: await trust() });
    expect(findings).toEqual([]);
    expect(isProven(summary)).toBe(true);
    expect(summary.signedWith.map(({ publicKey }) => publicKey)).toEqual([
      log.key.publicText,
      next.publicText,
    ]);
    // Who knows the first key alone sees a stranger.
    const first = knowing(log.key);
    expect((await log.verify({ trust: first })).findings).toMatchObject([
      { state: 'ALTERED', subject: 'checkpoint' },
    ]);
  });

  it('is made once by processes that start at the same time', async () => {
    const directory = path.join(log.directory, 'together');
    for (let round = 0; round < 20; round += 1) {
      const file = path.join(directory, `log-key-${round}`);
      const kept = await Promise.all(
        Array.from({ length: 4 }, () => keepLogKey(file, 'one', undefined).catch(String)),
      );
      // One that reads while another writes fails, and is tried again.
      const again = await Promise.all(kept.map(() => keepLogKey(file, 'one', undefined)));
      const made = kept.flatMap((key) => (typeof key === 'string' ? [] : [key.publicText]));
      expect(new Set([...made, ...again.map(({ publicText }) => publicText)]).size).toBe(1);
    }
  });

  it('is not made anew beside a log that another one has signed', async () => {
    const file = path.join(log.directory, 'elsewhere', 'log-key');
    await expect(
      keepLogKey(file, log.key.name.slice('xiq-sink/'.length), log.key.publicText),
    ).rejects.toThrow(log.key.publicText);
    await expect(readdir(path.dirname(file))).rejects.toThrow('ENOENT');
  });
});

it('a clock that ran ahead does not stop signing when it is right again', async () => {
  await freely(test.db, sql`update log_checkpoints set made_at = now() + interval '2 months'`);
  await store(5);
  await untilSeen(test.service);
  const sealer = ownSealer();
  while ((await sealer.seal()) === 'more');
  await sealer.seal();
  expect((await latestCheckpoint(test.service))?.size).toBeGreaterThan(EVENTS);
});

it('a database that lacks what was seen is gone on from only after a person says why', async () => {
  const seen = seenFileOf(log.directory);
  const grounds = { operator: { name: 'jane', via: 'command' }, reason: 'restored of Monday' } as const;
  await expect(acceptDatabase(test.service, seen, await trust(), grounds)).rejects.toThrow(
    'nothing to accept',
  );
  const { note, size } = (await latestCheckpoint(test.service)) ?? { note: '', size: 0 };
  await writeFile(seen, note.replace(`\n${size}\n`, `\n${size + 7}\n`));
  expect(await compareWithSeen(test.service, await trust())).toContain('The database is older');
  await store(5);
  await untilSeen(test.service);
  const sealer = ownSealer();
  while ((await sealer.seal()) === 'more');
  await expect(sealer.checkpoint()).rejects.toThrow('which this machine has seen');

  const kept = await acceptDatabase(test.service, seen, await trust(), grounds);
  expect(await readFile(kept, 'utf8')).toContain(`\n${size + 7}\n`);
  expect(await compareWithSeen(test.service, await trust())).toBeUndefined();
  await sealer.checkpoint();
  expect((await log.verify({ trust: await trust() })).findings).toEqual([]);
  const rows = await test.query`select operator, outcome, details ->> 'reason' as reason from operator_log
    where action = 'integrity.accept'`;
  expect(rows).toEqual([{ operator: 'jane', outcome: 'done', reason: 'restored of Monday' }]);
});
