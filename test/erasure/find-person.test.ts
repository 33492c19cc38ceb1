import { gzipSync } from 'node:zlib';
import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { findErasable } from '../../src/erasure/erase-person.ts';
import { searchOf } from '../../src/erasure/find-person.ts';
import type { Person } from '../../src/erasure/refusals.ts';
import { insertQuarantine } from '../../src/store/quarantine/quarantine.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();
const nobody: Person = { users: [], macs: [], phones: [] };
const decomposed = (text: string) => text.normalize('NFD');

/** Whether a record with a text is found by an erasure: `pattern` is what the database decides by. */
async function judge(person: Partial<Person>, text: string) {
  const search = searchOf({ ...nobody, ...person });
  const json = JSON.stringify({ value: text });
  const rows = await test.query<{ isCandidate: boolean }>`
    select ${json}::jsonb::text ~* ${search?.pattern} as "isCandidate"`;
  // What the database passes over is found by nobody.
  return rows[0]?.isCandidate === true ? search?.judgeJson(json) : undefined;
}

describe('a name', () => {
  it.each([
    ['ann', 'ann'],
    ['ann', 'ANN logged in.'],
    ['ann', 'by ann.'],
    ['ann', 'first line\nann'],
    ['ann', String.raw`CORP\ann`],
    ['ann', '{"user":"ann"}'],
    ['ann', String.raw`{"text":"line\nann"}`],
    ['berg', 'ＢＥＲＧ'],
    ['berg', 'be\u200Brg'],
    ['Jane Doe', 'by jane  doe, admin'],
    ['Jane Doe', 'by jane ... doe'],
    ['zöe', 'ZÖE'],
    ['zöe', decomposed('zöe')],
    [decomposed('zöe'), 'zöe'],
    ['müller@example.com', 'MÜLLER@Example.com'],
    ['müller@example.com', decomposed('Müller@example.com')],
    ['müller@example.com', 'user=m%C3%BCller%40example.com&x=1'],
    ['müller@example.com', 'user=m%FCller@example.com'],
    ['müller@example.com', String.raw`{"user":"m\u00fcller@example.com"}`],
    ['strauß', 'STRAUSS'],
    ['a"b', 'before a"b after'],
    ['=cmd|calc', 'before =cmd|calc after'],
    [String.raw`a\b`, String.raw`before a\b after`],
    ['jane+x@example.com', 'before jane+x@example.com after'],
    ['(x)[y]{z}', 'before (x)[y]{z} after'],
    ['§§', '§§'],
  ])('%j is found in %j', async (name, text) => {
    expect(await judge({ users: [name, 'a person of five words'] }, text)).toBe('named');
  });

  it.each([
    ['ann', 'ann@example.com'],
    ['ann', 'mary.ann'],
    ['ann', 'ann.other'],
    ['name@x', 'name@x-laptop'],
    ['name@x', '_name@x_'],
    ['name@x', 'name@x_'],
    ['jane', 'jane+tag@example.com'],
    ['a|b', 'x-a|b'],
  ])('%j is perhaps meant by %j, which is not erased', async (name, text) => {
    expect(await judge({ users: [name] }, text)).toBe('possible');
  });

  it.each([
    ['ann', 'joanna'],
    ['berg', 'sjöberg'],
    ['berg', 'Bergström'],
    ['zo', 'zoë'],
    ['zo', decomposed('zoë')],
    ['jane.doe', 'janeXdoe'],
    ['a+b', 'aab'],
    ['a?b', 'b'],
    ['a|b', 'a'],
    ['a*b', 'b'],
    ['^a$', 'a'],
    ['Jane Doe', 'Jane Roe Doe'],
  ])('%j is not found in %j', async (name, text) => {
    expect(await judge({ users: [name] }, text)).toBeUndefined();
  });

  it('with any letters is found in upper case, decomposed, and between blanks', () => {
    const letter = fc.constantFrom(...'abzäöüßéñçøłœžšıαςσжяİ'.split(''));
    const name = fc.array(letter, { minLength: 1, maxLength: 12 }).map((letters) => letters.join(''));
    fc.assert(
      fc.property(name, (user) => {
        const search = searchOf({ ...nobody, users: [user] });
        for (const form of [user, user.toUpperCase(), user.normalize('NFD'), user.normalize('NFKD')]) {
          expect(search?.judgeJson(JSON.stringify([`x ${form} y`]))).toBe('named');
        }
      }),
    );
  });
});

describe('a number', () => {
  const macs = ['00:11:22:33:44:55'];
  it.each([
    ['00-11-22-33-44-55:guests', 'named'],
    ['0011.2233.4455', 'named'],
    ['001122334455', 'named'],
    ['00 11 22 33 44 55', 'named'],
    ['00:11:22:ff:fe:33:44:55', 'named'],
    ['02-11-22-FF-FE-33-44-55', 'named'],
    ['fe80::211:22ff:fe33:4455', 'named'],
    ['2001:db8::211:22FF:FE33:4455 is its address', 'named'],
    ['00:11:22:33:44:56', undefined],
    ['0001122334455', undefined],
    ['fe80::211:22ff:fe33:4456', undefined],
  ])('%j names a MAC address: %j', async (text, naming) => {
    expect(await judge({ macs }, text)).toBe(naming);
  });

  it.each([
    ['+49 170/1234-567', 'named'],
    ['00491701234567', 'named'],
    ['2026-11-25 +49 170 1234567', 'named'],
    ['2026-11-25 0049 170 1234567', 'named'],
    ['2026 49 1 7 0 12 34 56 7', 'named'],
    ['2026 4 9 1 7 0 12 34 56 7', undefined],
    ['+49 170 1234568', undefined],
    ['491701234567', 'named'],
    ['4917012345678', undefined],
    ['+４９ １７０ １２３４５６７', 'named'],
  ])('%j names a phone number: %j', async (text, naming) => {
    expect(await judge({ phones: ['+49 170 1234567'] }, text)).toBe(naming);
  });

  it('is found as a number of JSON', () => {
    const search = searchOf({ ...nobody, phones: ['+49 170 1234567'] });
    expect(search?.judgeJson('{"tel":491701234567}')).toBe('named');
  });
});

describe('in the database', () => {
  const text = '[{"userName":"müller@example.com",]';
  const bodies = {
    'UTF-8': [Buffer.from(text), null],
    'escapes of JSON': [Buffer.from(text.replace('ü', String.raw`\u00fc`)), null],
    'Latin-1': [Buffer.from(text, 'latin1'), null],
    'UTF-16': [Buffer.from(text, 'utf16le'), null],
    gzip: [gzipSync(text), 'gzip'],
    'of somebody else': [Buffer.from(text.replace('müller', 'miller')), null],
    'that is no gzip': [Buffer.from('x'), 'gzip'],
  } as const satisfies Record<string, readonly [Buffer, string | null]>;
  const ids = new Map(Object.keys(bodies).map((name) => [name, randomUUID()]));
  beforeAll(async () => {
    const mueller = 'müller@example.com';
    const users = ['berg', 'sjöberg', 'Bergström', 'BERG', 'zoë', 'berg@x'];
    users.push(mueller, mueller.toUpperCase(), decomposed(mueller));
    await storeDeliveries(
      test.service,
      queuedDelivery(
        'AUDIT_LOG_ALL',
        users.map((userName) => auditRecord({ userName })),
      ),
    );
    await test.service.transaction().execute((trx) =>
      insertQuarantine(
        trx,
        Object.entries(bodies).map(([name, [content, encoding]]) => ({
          quarantine_id: ids.get(name) ?? '',
          delivery_id: randomUUID(),
          source: 'default',
          message_type: 'AUDIT_LOG_ALL' as const,
          received_at: '2026-03-01T09:00:00Z',
          reason: 'no JSON',
          content,
          encoding,
          twins_before: 0,
        })),
      ),
    );
  });

  const find = (user: string) =>
    findErasable({ db: test.service }, { person: { ...nobody, users: [user] }, eventIds: [] });

  it('the events of others with the same letters stay', async () => {
    expect((await find('berg')).events).toHaveLength(2);
    expect((await find('zo')).events).toEqual([]);
    expect((await find('zoe')).events).toEqual([]);
    expect((await find('müller@example.com')).events).toHaveLength(3);
  });

  it('what contains the name in a longer word is listed, and so is what cannot be read', async () => {
    const { possible } = await find('berg');
    expect(possible).toEqual([
      expect.stringMatching(/^event [0-9a-f-]{36}$/),
      `quarantined item ${ids.get('that is no gzip')}, which cannot be read`,
    ]);
  });

  it('quarantined bodies are found in every encoding', async () => {
    const { quarantine } = await find('Müller@example.com');
    const names = Object.keys(bodies).filter((name) => quarantine.includes(ids.get(name) ?? ''));
    expect(names).toEqual(['UTF-8', 'escapes of JSON', 'Latin-1', 'UTF-16', 'gzip']);
  });
});
