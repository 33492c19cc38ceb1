import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { UNOBSERVED } from '../../src/queue/delivery-observer.ts';
import { createRefusalReader, toRefused, type Person } from '../../src/erasure/refusals.ts';
import { addFingerprints } from '../../src/store/seal/erase.ts';
import { emptyTables } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';
import { temporaryDirectory } from '../support/program.ts';
import { useDatabase } from '../support/use-database.ts';

const key = Buffer.alloc(32, 7);
const EARLIER = Date.UTC(2026, 2, 1);

const test = useDatabase();
let directory: string;
let keyFile: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
  keyFile = path.join(directory, 'erasure-key');
  await writeFile(keyFile, key.toString('hex'));
});
beforeEach(async () => {
  await emptyTables(test.db);
  await sql`truncate refused_records`.execute(test.db);
});

const refuse = (person: Partial<Person>, eventIds: readonly string[] = []) =>
  addFingerprints(test.service, toRefused(key, { users: [], macs: [], phones: [], ...person }, eventIds));

async function refuses(payload: object, occurredAt = new Date(EARLIER).toISOString()): Promise<boolean> {
  const refusals = await createRefusalReader(keyFile).read(test.service);
  const event = {
    eventId: '6a5a4c7e-0000-4000-8000-000000000003',
    source: 'default',
    messageType: 'AUDIT_LOG_ALL' as const,
    values: [],
    occurredAt,
    payload: JSON.stringify(payload),
  };
  return refusals?.refuses(event) ?? false;
}

describe('an erased person', () => {
  it.each([
    [{ users: ['Jane@Example.com'] }, { userName: 'jane@example.com' }, true],
    [{ users: ['Jane@Example.com'] }, { description: 'User jane@example.com. Logged in' }, true],
    [{ users: ['jane@example.com'] }, { userName: 'mary.jane@example.com' }, false],
    [{ users: ['Jane Doe'] }, { a: { b: ['by Jane  Doe, admin'] } }, true],
    [{ users: ['Jane Doe'] }, { a: 'Jane', b: 'Doe' }, false],
    [{ users: ['jürgen'] }, { a: 'CORP\\Jürgen' }, true],
    [{ users: ['§§'] }, { a: '§§' }, true],
    [{ users: ['§§'] }, { a: '§' }, false],
    [{ macs: ['aa:bb:cc:dd:ee:ff'] }, { mac: 'AABB.CCDD.EEFF' }, true],
    [{ macs: ['aa:bb:cc:dd:ee:ff'] }, { id: 'AA-BB-CC-DD-EE-FF:guests' }, true],
    [{ macs: ['aa:bb:cc:dd:ee:ff'] }, { mac: 'aabbccddeef0' }, false],
    [{ phones: ['+49 170 1234567'] }, { tel: '0049 (170) 123-4567' }, true],
    [{ phones: ['+49 170 1234567'] }, { tel: '+49 170 1234568' }, false],
  ])('%j is recognised in %j: %j', async (person, payload, expected) => {
    await refuse(person);
    expect(await refuses(payload)).toBe(expected);
  });

  it('may come again: only what occurred before the erasure is refused, for each person', async () => {
    await refuse({ users: ['jane'] });
    await sql`update refused_records set until = '2026-01-01'`.execute(test.db);
    await refuse({ users: ['joe'] });
    expect(await refuses({ userName: 'jane' })).toBe(false);
    expect(await refuses({ userName: 'jane' }, '2025-12-31T23:59:59Z')).toBe(true);
    expect(await refuses({ userName: 'joe' })).toBe(true);
    expect(await refuses({ userName: 'joe' }, '2999-01-01T00:00:00Z')).toBe(false);
  });
});

describe('storing', () => {
  const store = (erasureKeyFile: string | undefined, giveUp = new AbortController()) =>
    new BatchStore(test.service, pino({ level: 'silent' }), giveUp.signal, { erasureKeyFile });
  const records = [
    auditRecord({ userName: 'jane', timeStamp: EARLIER }),
    auditRecord({ userName: 'joe', timeStamp: EARLIER, userId: 2 }),
  ];
  const stored = async () =>
    (
      await sql<object>`
        select record_count as records, expected_count as expected, event_count as events, refused_count as refused,
          (select string_agg(user_name, ' ') from audit_events) as users from deliveries`.execute(
        test.service,
      )
    ).rows;

  it.each([0, 300])(
    'leaves out records of erased persons, and the counts add up (%j unreadable)',
    async (bad) => {
      await refuse({ users: ['jane'] });
      await store(keyFile).add({
        deliveries: [queuedDelivery('AUDIT_LOG_ALL', [...records, ...Array.from({ length: bad }, () => 1)])],
      });
      expect(await stored()).toEqual([
        { records: 2 + bad, expected: 1 + bad, events: 1, refused: 1, users: 'joe' },
      ]);
      const { rows } = await sql<object>`
      select count(*)::int as count from deliveries where expected_count <> event_count + duplicate_count + quarantined_count`.execute(
        test.service,
      );
      expect(rows).toEqual([{ count: 0 }]);
    },
  );

  it('leaves out an erased event that is delivered again', async () => {
    const deliver = () => store(keyFile).add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', records)] });
    await deliver();
    const { rows } = await sql<{ id: string }>`
      select event_id::text as id from audit_events where user_name = 'jane'`.execute(test.service);
    await emptyTables(test.db);
    await refuse({}, [rows[0]?.id ?? '']);
    await deliver();
    expect(await stored()).toMatchObject([{ events: 1, refused: 1, users: 'joe' }]);
  });

  it('waits for the key, and for the right one', async () => {
    await refuse({ users: ['jane'] });
    const other = path.join(directory, 'other-key');
    for (const file of [undefined, other]) {
      const giveUp = new AbortController();
      const waiting: string[] = [];
      const storing = new BatchStore(test.service, pino({ level: 'silent' }), giveUp.signal, {
        erasureKeyFile: file,
        observer: { ...UNOBSERVED, waiting: (_lane, reason) => void waiting.push(reason) },
      }).add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', records)] });
      storing.catch(() => undefined);
      await waitFor(() => waiting.length > 0);
      expect(waiting[0]).toContain('the key that tells erased persons');
      giveUp.abort();
      await expect(storing).rejects.toThrow('stopped waiting');
      await writeFile(other, Buffer.alloc(32, 8).toString('hex'));
    }
    expect(await stored()).toEqual([]);
  });
});
