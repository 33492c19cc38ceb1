import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { checkEvents, readGoneReasons } from '../../src/seal/verify/verify-rows.ts';
import { parseCheckpoints } from '../../src/seal/checkpoint.ts';
import { proveEvent } from '../../src/seal/prove-event.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { findEventsById } from '../../src/store/seal/erase.ts';
import { NO_TRACES, type ErasableEvent } from '../../src/store/seal/person-traces.ts';
import { findErasable } from '../../src/erasure/erase-person.ts';
import { recordEnded } from '../../src/store/access/operator-log.ts';
import { saveInventory } from '../../src/store/reconcile/inventory.ts';
import { insertQuarantine } from '../../src/store/quarantine/quarantine.ts';
import { openLog } from '../../src/store/log/read-log.ts';
import { readSlice } from '../../src/store/events/read-events.ts';
import { readingSealed, readSealedEvents, SEALED_VERSION } from '../../src/store/seal/sealed-rows.ts';
import { listSavedSearches, saveSearch } from '../../src/store/alerts/saved-searches.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { freely } from '../support/tamper.ts';
import { STORED } from '../store/events/varied-events.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';
import { nothingKnown } from '../support/trust.ts';
import { eraseOnRecord } from '../support/actions.ts';

const grounds = { operator: 'jane', reason: 'request 17 of the data protection officer' };

const test = useDatabase({ isVaried: true });
let log: SealedLog;
let anchor: string;
beforeAll(async () => {
  log = await openSealedLog(test.service, () => parseCheckpoints(anchor));
  anchor = (await log.seal()).note;
});

const eraseOnly = (events: readonly ErasableEvent[]) =>
  eraseOnRecord(test.service, grounds, { events, ...NO_TRACES });

/** The events at some places of the log, with the sealed form of their rows. */
async function eventsAt(places: readonly number[]) {
  const { first } = await openLog(test.service).range();
  const all = await readingSealed(test.service, (trx) =>
    readSealedEvents(trx, { from: first, to: first + STORED, version: SEALED_VERSION }),
  );
  return places.flatMap((place) => all[place] ?? []);
}

async function eventToProve(id: string) {
  const [event] = await test.query<{ eventId: string; occurredAt: string; receivedAt: string }>`
    select event_id as "eventId", to_json(date_trunc('milliseconds', occurred_at)) #>> '{}' as "occurredAt",
      to_json(date_trunc('milliseconds', received_at)) #>> '{}' as "receivedAt" from events where event_id = ${id}::uuid`;
  if (event === undefined) throw new TypeError(`no event ${id}`);
  return event;
}

/** Every value of every table of the schema as text, in bytes as hex: what a dump contains. */
async function dump(): Promise<string> {
  const rows = await test.query<{ name: string }>`
    select oid::regclass::text as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r'`;
  const parts = [];
  for (const { name } of rows) {
    const found = await test.query<{ text: string | null }>`
      select string_agg(one::text, ' ') as text from ${sql.raw(name)} as one`;
    parts.push(found[0]?.text ?? '');
  }
  return parts.join('\n').toLowerCase();
}

async function allSalts(): Promise<readonly Buffer[]> {
  const rows = await test.query<{ salt: Buffer }>`
    select salt from log_salts, unnest(salts) as salt where salt is not null`;
  return rows.map(({ salt }) => salt);
}

describe('an erasure', () => {
  it('deletes events so that nobody who guesses them can confirm it, and keeps all other proofs', async () => {
    const erased = await eventsAt([3, 4, 5, 300, 511]);
    const [neighbour] = await eventsAt([6]);
    const ids = erased.map(({ eventId }) => eventId ?? '');
    const before = await dump();
    for (const id of ids) expect(before).toContain(id);

    const { notSealedYet } = (await log.verify()).summary;
    const erasure = await eraseOnly(await findEventsById(test.service, ids));
    const waiting = await log.verify();
    expect(waiting.findings.filter(({ state }) => state !== 'ERASED')).toEqual([]);
    expect(waiting.summary).toMatchObject({ erased: 5, notSealedYet: notSealedYet + 2 });
    await log.seal();
    const { summary, findings } = await log.verify();
    expect(findings.map(({ state, detail }) => ({ state, detail }))).toEqual(
      ids.map(() => ({ state: 'ERASED', detail: `erased on request ${erasure} by ${grounds.operator}` })),
    );
    expect(summary).toMatchObject({ erased: 5, intact: STORED - 5 + 2, anchors: 1, missing: 0, altered: 0 });

    const after = await dump();
    const salts = await allSalts();
    expect(salts).toHaveLength(STORED - 5 + 2);
    for (const { eventId, record } of erased) {
      const guess = Buffer.from(record ?? '');
      expect(after).not.toContain(eventId);
      expect(after).not.toContain(eventId?.replaceAll('-', ''));
      for (const prefix of [Buffer.alloc(0), Buffer.alloc(1), Buffer.alloc(17), ...salts.map(withZero)]) {
        const hash = createHash('sha256').update(prefix).update(guess).digest('hex');
        expect(after.includes(hash)).toBe(false);
      }
    }
    // The search itself would find an event that is still there.
    const known = Buffer.from(neighbour?.record ?? '');
    const hashes = salts.map((salt) =>
      createHash('sha256').update(withZero(salt)).update(known).digest('hex'),
    );
    expect(hashes.some((hash) => after.includes(hash))).toBe(true);
    expect(
      (await proveEvent(test.service, await eventToProve(neighbour?.eventId ?? ''), await nothingKnown()))
        .text,
    ).toContain('tlog-proof');
  });

  it('is recognised where verification begins within it', async () => {
    const { first } = await openLog(test.service).range();
    const leaves = { leaf: 0, count: STORED, position: first, version: SEALED_VERSION };
    const choice = { positions: { from: first + 4, to: first + 301 } };
    const { findings } = await checkEvents(test.service, leaves, choice, await readGoneReasons(test.service));
    expect(findings.map(({ state, position }) => [state, position])).toEqual(
      [4, 5, 300].map((place) => ['ERASED', first + place]),
    );
  });

  it('deletes what quarantine and the operator log have of a person, with what was sealed of it', async () => {
    const item = '6a5a4c7e-0000-4000-8000-000000000002';
    await test.service.transaction().execute((trx) =>
      insertQuarantine(trx, [
        {
          quarantine_id: item,
          delivery_id: item,
          source: 'default',
          message_type: 'AUDIT_LOG_ALL',
          received_at: '2026-03-01T09:00:00Z',
          reason: 'no object: zoe@example.com',
          content: Buffer.from('["zoe@example.com"]'),
          encoding: null,
          twins_before: 0,
        },
      ]),
    );
    const operator = { name: 'jane', via: 'console' } as const;
    await recordEnded(test.service, { operator, action: 'timeline.read', subject: 'zoe@example.com' });
    const search = {
      name: 'Zoe',
      line: 'user:zoe@example.com',
      since: null,
      until: null,
      raisesAlerts: false,
    };
    await saveSearch(test.service, ALL_SOURCES, search, { name: 'jane', mayAlert: true });
    await saveSearch(
      test.service,
      ALL_SOURCES,
      { ...search, name: 'All', line: '' },
      { name: 'jane', mayAlert: true },
    );
    const zoe = { person_id: '1', user_name: 'zoe@example.com', name: 'Zoe', role: 'Operator' };
    const bob = { ...zoe, person_id: '2', user_name: 'bob@example.com' };
    await saveInventory(test.service, 'people', 'default', [zoe, bob], new Date('2026-01-01'));
    await saveInventory(
      test.service,
      'people',
      'default',
      [{ ...zoe, role: 'Administrator' }, bob],
      new Date('2026-02-01'),
    );
    await log.seal();
    const { size } = (await log.verify()).summary;
    expect(await dump()).toContain('zoe@');
    const person = { users: ['zoe@example.com'], macs: [], phones: [] };
    const traces = await findErasable({ db: test.service }, { person, eventIds: [] });
    expect(traces).toMatchObject({
      quarantine: [item],
      operations: [expect.any(String)],
      searches: [expect.any(String)],
      inventory: { devices: [], locations: [], people: [expect.any(String), expect.any(String)] },
    });
    const erasure = await eraseOnRecord(test.service, grounds, traces);
    await log.seal();
    const after = await dump();
    expect(after).not.toContain('zoe@');
    expect(await listSavedSearches(test.service, ALL_SOURCES)).toMatchObject([{ name: 'All' }]);
    expect(await test.query`select user_name from people`).toEqual([{ user_name: 'bob@example.com' }]);
    // Also not as the hash that was sealed of the content.
    expect(after).not.toContain(createHash('sha256').update('["zoe@example.com"]').digest('hex'));
    const { summary, findings } = await log.verify();
    const detail = `erased on request ${erasure} by ${grounds.operator}`;
    expect(findings.filter((finding) => finding.detail === detail)).toMatchObject([
      { state: 'ERASED', subject: 'leaves', leaves: [size - 2, size - 1] },
      { state: 'ERASED', subject: 'leaves', leaves: [size - 1, size] },
    ]);
    // The new states of both, the erasure, and the request for it.
    expect(summary).toMatchObject({ size: size + 4, missing: 0, altered: 0, inserted: 0 });
    const rows = await test.query`
      select action, operator, subject, details from operator_log where id = any(${traces.operations}::bigint[])`;
    expect(rows).toEqual([{ action: 'timeline.read', operator: 'jane', subject: 'erased', details: {} }]);
  });

  it('is passed by those who read the log', async () => {
    const stored = openLog(test.service);
    const { first } = await stored.range();
    const slice = await readSlice(stored, ALL_SOURCES, first + 3, 3);
    expect([...slice.events]).toEqual([]);
    expect(slice).toMatchObject({ end: first + 6, isFull: true });
  });

  it('happens as a whole or not at all', async () => {
    const [event] = await findEventsById(
      test.service,
      (await eventsAt([20])).map(({ eventId }) => eventId ?? ''),
    );
    if (event === undefined) throw new TypeError('no event');
    const unknown = { ...event, eventId: '6a5a4c7e-0000-4000-8000-000000000001' };
    expect(await eraseOnly([event, unknown])).toBeUndefined();
    expect(await findEventsById(test.service, [event.eventId])).toHaveLength(1);
  });

  it('is the only way past the guards', async () => {
    await expect(sql`delete from erasures`.execute(test.db)).rejects.toThrow('is refused');
    const reader = openDatabase(test.readerUrl, () => undefined);
    await expect(sql`select erase_rows('joe', 'x', '{}', '{}', '{}', '{}')`.execute(reader)).rejects.toThrow(
      'permission denied',
    );
    await reader.destroy();
  });

  it('that is only claimed stays missing', async () => {
    const [victim] = await eventsAt([700]);
    await freely(test.db, async (trx) => {
      await sql`delete from audit_events where event_id = ${victim?.eventId}`.execute(trx);
      for (const table of ['location_observations', 'log_entries', 'alerts_received', 'other_events']) {
        await sql`delete from ${sql.id(table)} where event_id = ${victim?.eventId}`.execute(trx);
      }
      await sql`
        insert into erasures (operator, reason, event_count, item_count, operation_count, leaves, deliveries)
        values ('joe', 'none', 1, 0, 0, '{[700,701)}', '{}')`.execute(trx);
    });
    const { findings } = await log.verify();
    const found = findings.filter(({ state }) => state !== 'ERASED');
    expect(found).toMatchObject([
      { state: 'MISSING', subject: 'event', eventId: victim?.eventId },
      { state: 'ALTERED', subject: 'delivery' },
      { state: 'INSERTED', subject: 'erasure' },
    ]);
  });
});

const withZero = (salt: Buffer) => Buffer.concat([Buffer.alloc(1), salt]);
