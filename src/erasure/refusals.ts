import { MAC_SOURCE, macDigits } from '../events/mac-address.ts';
import { createHash, createHmac } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { describeError, OutageError } from '../lib/errors.ts';
import type { Db } from '../store/server/database.ts';
import type { EventRow } from '../store/events/insert-events.ts';
import { readFingerprints, type ErasedFingerprint, type StoredFingerprint } from '../store/seal/erase.ts';
import type { FingerprintKind } from '../store/server/schema/seal-tables.ts';

/** Names, MAC addresses and phone numbers of a person. */
export interface Person {
  readonly users: readonly string[];
  /** 12 hexadecimal digits each, with or without separators. */
  readonly macs: readonly string[];
  readonly phones: readonly string[];
}

/** What must not be stored again. */
export interface Refusals {
  refuses(event: Pick<EventRow, 'eventId' | 'occurredAt' | 'payload'>): boolean;
}

/** Reads what must not be stored again. */
export interface RefusalReader {
  /** Undefined: nothing. Throws an OutageError if the key is missing or another one. */
  read(db: Db): Promise<Refusals | undefined>;
}

/** How long a worker goes by what it has read. An erasure waits for longer before it deletes. */
const FRESH_MS = 1_000;
export const SETTLED_MS = 3 * FRESH_MS;

/** Creates a reader that queries the database once a second at most. */
export function createRefusalReader(keyFile: string | undefined): RefusalReader {
  let readAt = -Infinity;
  let known: Refusals | undefined;
  return {
    async read(db) {
      if (performance.now() - readAt < FRESH_MS) return known;
      const records = await readFingerprints(db);
      known = records.length === 0 ? undefined : createRefusals(records, await readKey(keyFile));
      readAt = performance.now();
      return known;
    },
  };
}

async function readKey(file: string | undefined): Promise<Buffer> {
  try {
    if (file === undefined) throw new Error('there is no data directory');
    return parseKey(await readFile(file, 'utf8'));
  } catch (error) {
    throw new OutageError(
      `the key that tells erased persons cannot be read (${describeError(error)}): see docs/erasure.md`,
      { cause: error },
    );
  }
}

const KEY_BYTES = 32;

/** Reads the text of a key. Throws an Error if it is damaged. */
export function parseKey(text: string): Buffer {
  const key = Buffer.from(text.trim(), 'hex');
  if (key.length !== KEY_BYTES) throw new Error('it does not have 64 hexadecimal digits');
  return key;
}

/** An identifier of a key that does not reveal it. */
const keyIdOf = (key: Buffer) => createHash('sha256').update(key).digest('hex').slice(0, 16);

const digestOf = (key: Buffer, kind: FingerprintKind, value: string) =>
  createHmac('sha256', key).update(`${kind}\n${value}`).digest();

/** The records of a person, and events, as they are refused. */
export function toRefused(
  key: Buffer,
  { users, macs, phones }: Person,
  eventIds: readonly string[],
): readonly ErasedFingerprint[] {
  const keyId = keyIdOf(key);
  const record = (kind: FingerprintKind, value: string, words = 1): ErasedFingerprint => ({
    kind,
    words,
    keyId,
    digest: digestOf(key, kind, value),
  });
  return [
    ...users.map((user) => {
      const words = wordsOf(user);
      return record('user', words.length === 0 ? user.toLowerCase() : words.join(' '), words.length);
    }),
    ...macs.map((mac) => record('mac', macDigits(mac))),
    ...phones.map((phone) => record('phone', plainDigits(phone))),
    ...eventIds.map((id) => record('event', id)),
  ];
}

const plainDigits = (text: string) => text.replaceAll(/\D/g, '').replace(/^0+/, '');

/** The words of a text as names have them, in lower case. */
function wordsOf(text: string): readonly string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_.@+-]+/gu) ?? [];
  return words.flatMap((word) => word.replace(/\.+$/, '') || []);
}

function createRefusals(records: readonly StoredFingerprint[], key: Buffer): Refusals {
  const keyId = keyIdOf(key);
  if (records.some((record) => record.keyId !== keyId)) {
    throw new OutageError(
      'the key that tells erased persons is another one than that of an erasure: see docs/erasure.md',
    );
  }
  const untils = new Map(records.map(({ kind, digest, until }) => [nameOf(kind, digest), until.getTime()]));
  const lengths = new Set(records.filter(({ kind }) => kind === 'user').map(({ words }) => words));
  const hasKind = (kind: FingerprintKind) => records.some((record) => record.kind === kind);
  const [hasMac, hasPhone, hasEvent] = [hasKind('mac'), hasKind('phone'), hasKind('event')];
  const last = Math.max(...untils.values());
  return {
    refuses({ eventId, occurredAt, payload }) {
      const occurred = Date.parse(occurredAt);
      // What occurs after the erasures is not of them, and costs no more than this.
      if (occurred >= last) return false;
      const isRefused = (kind: FingerprintKind, value: string) =>
        occurred < (untils.get(nameOf(kind, digestOf(key, kind, value))) ?? -Infinity);
      const isNamed = (text: string) =>
        namesOf(text, lengths).some((name) => isRefused('user', name)) ||
        (hasPhone && (text.match(PHONE) ?? []).some((phone) => isRefused('phone', plainDigits(phone))));
      return (
        (hasEvent && isRefused('event', eventId)) ||
        (hasMac && (payload.match(MAC) ?? []).some((mac) => isRefused('mac', macDigits(mac)))) ||
        ((lengths.size > 0 || hasPhone) && textsOf(JSON.parse(payload)).some(isNamed))
      );
    },
  };
}

const nameOf = (kind: FingerprintKind, digest: Buffer) => `${kind} ${digest.toString('hex')}`;

function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

/** What may be a name in a text: so many words in a row, or for 0 the whole text. */
function namesOf(text: string, lengths: ReadonlySet<number>): readonly string[] {
  const words = wordsOf(text);
  return [...lengths].flatMap((length) =>
    length === 0
      ? [text.toLowerCase()]
      : words
          .slice(0, Math.max(0, words.length - length + 1))
          .map((_, at) => words.slice(at, at + length).join(' ')),
  );
}

const MAC = new RegExp(`(?<![0-9a-f])${MAC_SOURCE}(?![0-9a-f])`, 'gi');
const PHONE = /\d(?:[ ./()-]*\d)+/g;
