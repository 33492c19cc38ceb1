import { exactTerms } from '../../src/events/search-query.ts';
import { readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql, type RawBuilder } from 'kysely';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseCheckpoints } from '../../src/seal/checkpoint.ts';
import { proveEvent, sealOf } from '../../src/seal/prove-event.ts';
import { createHasher } from '../../src/seal/sealer.ts';
import { isSignedBy, parseVerifier } from '../../src/seal/signed-note.ts';
import { readLogKeys } from '../../src/seal/log-key.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { readSealState } from '../../src/store/seal/seal-log.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { findEvents } from '../support/find-events.ts';
import { whileTampered } from '../support/tamper.ts';
import { buildForeignCheck, hasGo } from '../support/foreign-log.ts';
import { endOfCommand } from '../support/command.ts';
import { untilSeen } from '../support/until-seen.ts';
import { STORED } from '../store/events/varied-events.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';
import { insertAudits } from '../support/stored-rows.ts';
import { knowing } from '../support/trust.ts';

const test = useDatabase({ isVaried: true });
let log: SealedLog;
let anchor: string;
beforeAll(async () => {
  log = await openSealedLog(test.service, () => parseCheckpoints(anchor));
  anchor = (await log.seal()).note;
});

/** Does to a table what a superuser can do, looks, and undoes it. */
const tampered = (table: string, change: RawBuilder<unknown>, look: () => Promise<void>) =>
  whileTampered(test.db, [table], change, look);

const oneAudit = sql`(select event_id from audit_events order by id limit 1 offset 7)`;

describe('the seal', () => {
  it('has a leaf for each event, and a signed checkpoint', async () => {
    const { size, sealed, logged } = await readSealState(test.service);
    expect(size).toBe(STORED);
    expect(sealed).toEqual(logged);
    expect(isSignedBy(anchor, parseVerifier(log.key.publicText))).toBe(true);
    expect(parseCheckpoints(anchor)).toMatchObject([{ origin: log.key.name, size: STORED }]);
  });

  it('hashes rows again that a server may not have that has taken over', async () => {
    const { logged } = await readSealState(test.service);
    const hash = createHasher(test.service);
    const steps = [{ from: logged.from, to: logged.from + 3 }] as const;
    const before = hash(steps, '1');
    expect(hash(steps, '1')).toBe(before);
    const after = hash(steps, '2');
    // Each time with salts of its own.
    expect(after.salts).not.toEqual(before.salts);
    expect(await after.hashes).not.toEqual(await before.hashes);
  });

  it('signs with a key that only its owner may read, and that stays', async () => {
    expect((await stat(log.keyFile)).mode & 0o777).toBe(0o600);
    expect((await readLogKeys(log.keyFile)).signing?.publicText).toBe(log.key.publicText);
    await writeFile(path.join(log.directory, 'damaged'), 'PRIVATE+KEY+x');
    await expect(readLogKeys(path.join(log.directory, 'damaged'))).rejects.toThrow('LOG_KEY_FILE');
  });

  it('keeps salts from the role that may only read', async () => {
    const reader = openDatabase(test.readerUrl, () => undefined);
    await expect(sql`select from log_salts`.execute(reader)).rejects.toThrow('permission denied');
    await sql`select from log_hashes, log_checkpoints, log_seals`.execute(reader);
    await reader.destroy();
  });

  it('is the same whether the database or this program hashes', async () => {
    for (const isFull of [false, true]) {
      const { summary, findings } = await log.verify({ isFull });
      expect(findings).toEqual([]);
      expect(summary).toMatchObject({
        intact: STORED,
        size: STORED,
        checkpoints: 1,
        anchors: 1,
        anchoredSize: STORED,
      });
    }
  });

  it('is of one source, or of a time', async () => {
    expect((await log.verify({ source: 'branch' })).summary).toMatchObject({
      intact: STORED / 2,
      missing: 0,
    });
    expect((await log.verify({ since: new Date(Date.now() + 60_000) })).summary).toMatchObject({
      intact: 0,
      altered: 0,
    });
  });
});

describe('verify', () => {
  it('names a row whose payload was changed', async () => {
    await tampered(
      'audit_events',
      sql`update audit_events set payload = payload || '{"x": 1}' where event_id = ${oneAudit}`,
      async () => expect((await log.verify({ isFull: true })).findings).toMatchObject([{ state: 'ALTERED' }]),
    );
  });

  it('names a row that was deleted, and the delivery that counts it', async () => {
    await tampered('audit_events', sql`delete from audit_events where event_id = ${oneAudit}`, async () => {
      const { findings } = await log.verify();
      expect(findings).toMatchObject([
        { state: 'MISSING', subject: 'event' },
        { state: 'ALTERED', subject: 'delivery' },
      ]);
    });
  });

  it('tells rows that were inserted from those that are not sealed yet', async () => {
    const copy = (id: string, xid: string) => sql`
      insert into audit_events (id, xid, event_id, delivery_id, occurred_at, received_at, source, message_type, origin, payload)
      select ${sql.raw(id)}, ${sql.raw(xid)}, gen_random_uuid(), gen_random_uuid(), occurred_at, received_at, source, message_type, origin, payload
      from audit_events limit 1`;
    const inserted = ['INSERTED event', 'MISSING delivery'];
    const found = async () =>
      (await log.verify()).findings.map(({ state, subject }) => `${state} ${subject}`);
    await tampered('audit_events', copy('id', 'xid'), async () => expect(await found()).toEqual(inserted));
    // An id of a transaction that has not begun yet.
    await tampered('audit_events', copy("nextval('events_id_seq')", "'4000000000'::xid8"), async () =>
      expect(await found()).toEqual(inserted),
    );
    const before = (await log.verify()).summary.notSealedYet;
    await tampered('audit_events', copy("nextval('events_id_seq')", 'pg_current_xact_id()'), async () => {
      const { summary, findings } = await log.verify();
      expect(findings).toMatchObject([{ state: 'MISSING', subject: 'delivery' }]);
      expect(summary.notSealedYet).toBe(before + 1);
    });
    // Those before the first sealed one are sealed last.
    await tampered('log_state', sql`update log_state set first_position = first_position - 7`, async () =>
      expect((await log.verify()).summary.notSealedYet).toBe(before + 7),
    );
  });

  it('names the leaves when the tree was made anew, and refuses to sign it', async () => {
    const forged = sql`update log_hashes set hashes = set_byte(hashes, 4, 255 - get_byte(hashes, 4)) where level = 0 and number = 1`;
    await tampered('log_hashes', forged, async () => {
      const { findings } = await log.verify();
      expect(findings).toContainEqual(expect.objectContaining({ subject: 'leaves', leaves: [256, 512] }));
      expect(findings).toContainEqual(expect.objectContaining({ subject: 'anchor', leaves: [0, STORED] }));
      expect(findings).toContainEqual(
        expect.objectContaining({ state: 'ALTERED', subject: 'event', leaves: [256, 257] }),
      );
    });
    const cut = sql`update log_seal_state set size = 100`;
    await tampered('log_seal_state', cut, async () => {
      expect((await log.verify()).findings).toContainEqual(
        expect.objectContaining({ state: 'MISSING', subject: 'anchor', leaves: [100, STORED] }),
      );
      await expect(log.sealer().checkpoint()).rejects.toThrow('run verify');
    });
  });

  it('names the leaves of which nothing says whose they are, and the rows that no leaf has then', async () => {
    await tampered('log_seals', sql`delete from log_seals`, async () => {
      const { summary, findings } = await log.verify();
      expect(findings).toContainEqual(
        expect.objectContaining({ state: 'MISSING', subject: 'leaves', leaves: [0, STORED] }),
      );
      expect(summary).toMatchObject({ intact: 0, size: STORED });
    });
  });

  it('names a forged checkpoint', async () => {
    const forged = sql`update log_checkpoints set note = replace(note, 'time 2', 'time 3')`;
    await tampered('log_checkpoints', forged, async () =>
      expect((await log.verify()).findings).toMatchObject([{ state: 'ALTERED', subject: 'checkpoint' }]),
    );
  });

  it('names an installation whose log the checkpoints are not of', async () => {
    for (const forged of [sql`update installation set id = gen_random_uuid()`, sql`delete from installation`])
      await tampered('installation', forged, async () =>
        expect((await log.verify()).findings).toMatchObject([
          {
            state: 'ALTERED',
            subject: 'checkpoint',
            detail: expect.stringContaining('installation') as unknown,
          },
        ]),
      );
  });

  it('is a command', async () => {
    const file = path.join(log.directory, 'anchor.txt');
    await writeFile(file, anchor);
    const run = (...args: string[]) =>
      endOfCommand({ DATABASE_URL: test.databaseUrl, DATA_DIR: log.directory }, 'verify', ...args);
    const good = await run('--against', file);
    expect(good.stdout).toContain(`${STORED} intact, 0 expired, 0 erased, 0 ALTERED`);
    expect(good.stdout).toContain('agrees with 1 of 1 anchor');
    expect(good.code).toBe(0);
    await tampered('audit_events', sql`delete from audit_events where event_id = ${oneAudit}`, async () => {
      const bad = await run('--json');
      const [first, ...others] = bad.stdout.trim().split('\n');
      expect(JSON.parse(first ?? '')).toMatchObject({ state: 'MISSING', subject: 'event' });
      expect(JSON.parse(others.at(-1) ?? '')).toMatchObject({ missing: 1, altered: 1 });
      expect(bad.code).toBe(1);
    });
    await writeFile(file, anchor.replaceAll('xiq-sink/', 'other/'));
    expect((await run('--against', file)).code).toBe(2);
  });
});

describe('prove', () => {
  it('proves an event, and says so of one that was changed', async () => {
    const events = await findEvents(test.service, ALL_SOURCES, {}, { limit: 30 });
    for (const event of events)
      expect((await proveEvent(test.service, event, knowing(log.key))).size).toBe(STORED);
    const [first] = events;
    if (first === undefined) throw new Error('there is none');
    expect(
      await sealOf(test.service, { ...first, receivedAt: '2000-01-01T00:00:00.000Z' }, knowing(log.key)),
    ).toEqual({
      state: 'waiting',
    });
    const rows = await test.query<{ id: string }>`select ${oneAudit} as id`;
    const audit = await findEvents(
      test.service,
      ALL_SOURCES,
      { terms: exactTerms({ type: ['AUDIT_LOG_ALL'] }) },
      { limit: 100 },
    );
    const changed = audit.find(({ eventId }) => eventId === rows[0]?.id) ?? audit[0];
    await tampered(
      'audit_events',
      sql`update audit_events set code = 1 where event_id = ${oneAudit}`,
      async () => {
        const proving = audit.map((event) => proveEvent(test.service, event, knowing(log.key)).catch(String));
        const refused = (await Promise.all(proving)).filter((result) => typeof result === 'string');
        expect(refused).toEqual([expect.stringMatching(`${changed?.eventId} is not what was sealed`)]);
      },
    );
  });

  it.skipIf(!hasGo())('writes files that Go accepts (golang-go, golang-golang-x-mod-dev)', async () => {
    const events = await findEvents(test.service, ALL_SOURCES, {}, { limit: 1 });
    const output = path.join(log.directory, 'event.tlog-proof');
    const { code } = await endOfCommand(
      { DATABASE_URL: test.databaseUrl, DATA_DIR: log.directory },
      'prove',
      events[0]?.eventId ?? '',
      '--output',
      output,
    );
    expect(code).toBe(0);
    const proof = await readFile(output, 'utf8');
    expect(proof).toMatch(/^c2sp\.org\/tlog-proof@v1\nextra /);
    const check = buildForeignCheck();
    expect(check({ PublicKey: log.key.publicText, TlogProofs: [proof] })).toContain('1 files');
    const [, extra = ''] = proof.split('\n');
    const forged = proof.replace(extra, `${extra.slice(0, -4)}AAAA`);
    expect(() => check({ PublicKey: log.key.publicText, TlogProofs: [forged] })).toThrow('tlog-proof');
    const receipt = await readFile(output.replace('.tlog-proof', '.cose'), 'base64');
    const Receipts = [{ Receipt: receipt, Entry: extra.slice('extra '.length) }];
    expect(check({ PublicKey: log.key.publicText, Receipts })).toContain('1 receipts');
  });
});

describe('sealing', () => {
  it('ends with an error where the log lacks an entry, and seals nothing', async () => {
    await log.seal();
    await insertAudits(test.db, { occurredAt: '2026-03-01T09:00:00Z', count: 3 });
    await untilSeen(test.db);
    const { size, logged } = await readSealState(test.service);
    const cut = sql`update log_tiles set kinds = kinds[:cardinality(kinds) - 1],
      occurred_at = occurred_at[:cardinality(kinds) - 1], event_ids = event_ids[:cardinality(kinds) - 1]
      where first = (select max(first) from log_tiles)`;
    await tampered('log_tiles', cut, async () => {
      await expect(log.seal()).rejects.toThrow(`the log has no entry for some of the positions`);
      expect(await readSealState(test.service)).toMatchObject({ size, logged });
    });
    expect(await log.seal()).toMatchObject({ size: size + 3 });
  });

  it('leaves the processor to a burst of events for a while, and seals them when it is over', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    vi.advanceTimersByTime(60_000);
    const sealer = log.sealer();
    while ((await sealer.seal()) === 'more');
    const { size } = await readSealState(test.service);
    const burst = async () => {
      await insertAudits(test.db, { occurredAt: '2026-03-01T09:00:00Z', count: 4_001 });
      await untilSeen(test.db);
      return sealer.seal();
    };
    expect(await burst()).toBe('done');
    expect((await readSealState(test.service)).size).toBe(size);
    vi.advanceTimersByTime(40_000);
    expect(await burst()).toBe('more');
    while ((await sealer.seal()) === 'more');
    expect((await readSealState(test.service)).size).toBe(size + 8_002);
  });
});
