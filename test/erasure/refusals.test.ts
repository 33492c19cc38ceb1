import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as fc from 'fast-check';
import { pino } from 'pino';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { UNOBSERVED } from '../../src/queue/delivery-observer.ts';
import { searchOf } from '../../src/erasure/find-person.ts';
import {
  createRefusalReader,
  parseKey,
  refuses,
  toRefused,
  type Person,
} from '../../src/erasure/refusals.ts';
import { addFingerprints } from '../../src/store/seal/erase.ts';
import { emptyTables } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';
import { temporaryDirectory } from '../support/program.ts';
import { useDatabase } from '../support/use-database.ts';
import { runs } from '../support/runs.ts';

const hex = '07'.repeat(32);
const EARLIER = Date.UTC(2026, 2, 1);

const test = useDatabase();
let directory: string;
let keyFile: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
  keyFile = path.join(directory, 'erasure-key');
  await writeFile(keyFile, hex);
});
beforeEach(async () => {
  await emptyTables(test.db);
  await test.query`truncate refused_records`;
});

const refuse = (person: Partial<Person>, eventIds: readonly string[] = []) =>
  addFingerprints(
    test.service,
    toRefused(parseKey(hex), { users: [], macs: [], phones: [], ...person }, eventIds),
  );

const read = () => createRefusalReader(keyFile)(test.service);

async function isRefused(
  payload: object,
  occurredAt = new Date(EARLIER).toISOString(),
  reading = read(),
): Promise<boolean> {
  const refusals = await reading;
  const event = {
    eventId: '6a5a4c7e-0000-4000-8000-000000000003',
    source: 'default',
    messageType: 'AUDIT_LOG_ALL' as const,
    values: [],
    occurredAt,
    payload: JSON.stringify(payload),
  };
  return refusals !== undefined && refuses(refusals, event);
}

it('an erased person may come again: only what occurred before the erasure is refused, for each person', async () => {
  await refuse({ users: ['jane'] });
  await test.query`update refused_records set until = '2026-01-01'`;
  await refuse({ users: ['joe'] });
  expect(await isRefused({ userName: 'jane' })).toBe(false);
  expect(await isRefused({ userName: 'jane' }, '2025-12-31T23:59:59Z')).toBe(true);
  expect(await isRefused({ userName: 'joe' })).toBe(true);
  expect(await isRefused({ userName: 'joe' }, '2999-01-01T00:00:00Z')).toBe(false);
});

describe('what is refused', () => {
  const person: Person = {
    users: ['jane', 'Jane Doe', 'jürgen van der berg', 'ann_b', '§§'],
    macs: ['aa:bb:cc:dd:ee:ff'],
    phones: ['+49 170 1234567'],
  };
  const pieces = [
    'jane|JANE|doe|Doe.|Jürgen|J\u0055\u0308RGEN|j%C3%BCrgen|van|der|berg|ann_b|§§|.| |, | |-|%20|/|aabb|CC:DD|:ee-ff|+49|0|170',
    '1234567|x|aa-bb-cc-dd-ee-ff|fe80::a8bb:ccff:fedd:eeff|0049|(170)|123 45 67',
  ].flatMap((line) => line.split('|'));
  const piece = fc.constantFrom(...pieces);
  const texts = fc.array(
    fc.array(piece, { maxLength: 12 }).map((some) => some.join('')),
    { minLength: 1, maxLength: 3 },
  );

  it.each(['with the hash of the sieve', 'as it was stored before there was one'])(
    'is exactly what an erasure finds, %s',
    async (form) => {
      await refuse(person);
      if (form.startsWith('as')) await test.query`update refused_records set sieve = null`;
      const [reading, search] = [read(), searchOf(person)];
      let refused = 0;
      await fc.assert(
        fc.asyncProperty(texts, async (values) => {
          const isFound = search?.judgeJson(JSON.stringify({ values })) === 'named';
          refused += Number(isFound);
          expect(await isRefused({ values }, undefined, reading)).toBe(isFound);
        }),
        { numRuns: runs(1_000) },
      );
      expect(refused).toBeGreaterThan(10);
    },
  );

  it('is a secret of the key: without it, neither digest nor hash of a name can be made', async () => {
    const other = parseKey('08'.repeat(32));
    const [one, two] = [parseKey(hex), other].map((key) => toRefused(key, person, []));
    expect(one).toHaveLength(7);
    for (const [at, { digest, sieve }] of (one ?? []).entries()) {
      expect(two?.[at]?.digest).not.toEqual(digest);
      expect(two?.[at]?.sieve).not.toBe(sieve);
    }
    // One hash, and what hides it is another for each name.
    const [name, mac] = toRefused(
      parseKey(hex),
      { users: ['aabbccddeeff'], macs: person.macs, phones: [] },
      [],
    );
    expect(name?.sieve).not.toBe(mac?.sieve);
  });

  it.each([
    ['letters', 'a b c d e '],
    ['marks in no order', '\u0301\u0316'],
    ['marks in no order that are made of letters', '\uff9e\u0301'],
    ['letters that become 18', '\ufdfa'],
    ['points before a letter', '.'],
    ['digits', '1 '],
    ['hexadecimal digits', 'a'],
    ['parts of addresses', 'ff:fe:'],
  ])('is looked for in 400 KB of %s within a second or so', async (_name, text) => {
    await refuse(person);
    const reading = read();
    await reading;
    const began = performance.now();
    const payload = { text: `${text.repeat(400_000 / Buffer.byteLength(text))}x` };
    const error = await isRefused(payload, undefined, reading).catch(String);
    expect([false, 'Error: more words than can be compared with those of erased persons']).toContain(error);
    expect(performance.now() - began).toBeLessThan(3_000);
  });

  it('is not looked for in more addresses than can be read', async () => {
    await refuse({ macs: person.macs });
    await expect(isRefused({ text: 'fe80::ff:fe00:1 '.repeat(11_000) })).rejects.toThrow('more words than');
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
    await test.query<object>`
        select record_count as records, expected_count as expected, event_count as events, refused_count as refused,
          (select string_agg(user_name, ' ') from audit_events) as users from deliveries`;

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
      const rows = await test.query<object>`
      select count(*)::int as count from deliveries where expected_count <> event_count + duplicate_count + quarantined_count`;
      expect(rows).toEqual([{ count: 0 }]);
    },
  );

  it('quarantines a record with too many words, and goes on', async () => {
    await refuse({ users: ['jane'] });
    const many = auditRecord({ description: 'a b '.repeat(60_000), timeStamp: EARLIER });
    await store(keyFile).add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', [many, ...records])] });
    expect(await stored()).toEqual([{ records: 3, expected: 2, events: 1, refused: 1, users: 'joe' }]);
    const rows = await test.query<{ reason: string; content: Buffer }>`
      select reason, content from quarantine`;
    expect(rows.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('more words than can be compared'),
    ]);
    expect(JSON.parse(String(rows[0]?.content))).toEqual(many);
  });

  it('leaves out an erased event that is delivered again', async () => {
    const deliver = () => store(keyFile).add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', records)] });
    await deliver();
    const rows = await test.query<{ id: string }>`
      select event_id::text as id from audit_events where user_name = 'jane'`;
    await emptyTables(test.db);
    await refuse({}, [rows[0]?.id ?? '']);
    await deliver();
    expect(await stored()).toMatchObject([{ events: 1, refused: 1, users: 'joe' }]);
  });

  it('waits for the key, and for the right one', async () => {
    await refuse({ users: ['jane'] });
    const other = path.join(directory, 'other-key');
    for (const [file, why] of [
      [undefined, 'cannot be read (there is no data directory)'],
      [other, 'differs from the one used for an erasure'],
    ] as const) {
      const giveUp = new AbortController();
      const waiting: string[] = [];
      const storing = new BatchStore(test.service, pino({ level: 'silent' }), giveUp.signal, {
        erasureKeyFile: file,
        observer: { ...UNOBSERVED, waiting: (_lane, reason) => void waiting.push(reason) },
      }).add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', records)] });
      storing.catch(() => undefined);
      await waitFor(() => waiting.length > 0);
      expect(waiting[0]).toContain(`the key that recognizes records of erased people ${why}`);
      giveUp.abort();
      await expect(storing).rejects.toThrow('stopped waiting');
      await writeFile(other, Buffer.alloc(32, 8).toString('hex'));
    }
    expect(await stored()).toEqual([]);
  });
});
