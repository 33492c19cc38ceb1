import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { MESSAGE_TYPES, type MessageType } from '../events/domain.ts';
import { FIELDS } from '../events/message-types.ts';
import { macDigits } from '../events/mac-address.ts';
import { describeError, OutageError } from '../lib/errors.ts';
import type { Db } from '../store/server/database.ts';
import type { EventRow } from '../store/events/insert-events.ts';
import { readFingerprints, type ErasedFingerprint, type StoredFingerprint } from '../store/seal/erase.ts';
import type { FingerprintKind } from '../store/server/schema/seal-tables.ts';
import { foldName, macsIn, namesIn, phonesIn, textsOf } from './person-names.ts';
import { phoneDigits } from './phone-number.ts';

/** Names, MAC addresses and phone numbers of a person. */
export interface Person {
  readonly users: readonly string[];
  /** 12 hexadecimal digits each, with or without separators. */
  readonly macs: readonly string[];
  readonly phones: readonly string[];
  /** MAC addresses that only events with this client have, by the column of it. */
  readonly clients?: readonly string[];
}

/** What must not be stored again: data alone, which a thread can be given. */
export interface Refusals {
  readonly key: KeyObject;
  /** The time before which each refused record occurred (epoch milliseconds). */
  readonly untils: ReadonlyMap<string, number>;
  readonly last: number;
  /** The numbers of words that refused names have. */
  readonly lengths: ReadonlySet<number>;
  /** `roughHash` of what is refused: what has another hash is not. Undefined for a kind: everything passes. */
  readonly sieves: ReadonlyMap<FingerprintKind, ReadonlySet<number> | undefined>;
}

/** How long a worker goes by what it has read. An erasure waits for longer before it deletes. */
const FRESH_MS = 1_000;
export const SETTLED_MS = 3 * FRESH_MS;

/**
 * Creates the function that reads what must not be stored again, and queries the database once a second at most. Undefined:
 * nothing. It throws an OutageError if the key is missing or another one.
 */
export function createRefusalReader(keyFile: string | undefined) {
  let readAt = -Infinity;
  let known: Refusals | undefined;
  return async (db: Db): Promise<Refusals | undefined> => {
    if (performance.now() - readAt < FRESH_MS) return known;
    const records = await readFingerprints(db);
    known = records.length === 0 ? undefined : createRefusals(records, await readKey(keyFile));
    readAt = performance.now();
    return known;
  };
}

async function readKey(file: string | undefined): Promise<KeyObject> {
  try {
    if (file === undefined) throw new Error('there is no data directory');
    return parseKey(await readFile(file, 'utf8'));
  } catch (error) {
    throw new OutageError(
      `the key that recognizes records of erased people cannot be read (${describeError(error)}): see docs/erasure.md`,
      { cause: error },
    );
  }
}

const KEY_BYTES = 32;

/** Reads the text of a key. Throws an Error if it is damaged. */
export function parseKey(text: string): KeyObject {
  const key = Buffer.from(text.trim(), 'hex');
  if (key.length !== KEY_BYTES) throw new Error('it does not have 64 hexadecimal digits');
  return createSecretKey(key);
}

/** An identifier of a key that does not reveal it. */
const keyIdOf = (key: KeyObject) => createHash('sha256').update(key.export()).digest('hex').slice(0, 16);

const digestOf = (key: KeyObject, kind: FingerprintKind | 'sieve', value: string) =>
  createHmac('sha256', key).update(`${kind}\n${value}`).digest();

/** FNV-1a, 32 bits: it is fast, and keeps nothing secret. */
function roughHash(value: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < value.length; at += 1) hash = Math.imul(hash ^ value.charCodeAt(at), 0x01000193);
  return hash;
}

/** Encrypts a rough hash, or decrypts it: what it is mixed with follows from the key, and is another for each digest. */
const mix = (key: KeyObject, digest: Buffer, hash: number) =>
  hash ^ digestOf(key, 'sieve', digest.toString('hex')).readInt32LE();

/** The records of a person, and events, as they are refused. */
export function toRefused(
  key: KeyObject,
  { users, macs, phones, clients = [] }: Person,
  eventIds: readonly string[],
): readonly ErasedFingerprint[] {
  const keyId = keyIdOf(key);
  const record = (kind: FingerprintKind, value: string, words = 1): ErasedFingerprint => {
    const digest = digestOf(key, kind, value);
    return { kind, words, keyId, digest, sieve: mix(key, digest, roughHash(value)) };
  };
  return [
    ...users.map(foldName).map(({ name, words }) => record('user', name, words)),
    ...macs.map((mac) => record('mac', macDigits(mac))),
    ...clients.map((mac) => record('client', macDigits(mac))),
    ...phones.map((phone) => record('phone', phoneDigits(phone))),
    ...eventIds.map((id) => record('event', id)),
  ];
}

function createRefusals(records: readonly StoredFingerprint[], key: KeyObject): Refusals {
  const keyId = keyIdOf(key);
  if (records.some((record) => record.keyId !== keyId)) {
    throw new OutageError(
      'the key that recognizes records of erased people differs from the one used for an erasure: see docs/erasure.md',
    );
  }
  const untils = new Map(
    records.map(({ kind, digest, source, until }) => [nameOf(kind, digest, source), until.getTime()]),
  );
  const lengths = new Set(records.filter(({ kind }) => kind === 'user').map(({ words }) => words));
  const sieves = new Map<FingerprintKind, Set<number> | undefined>();
  for (const [kind, ofKind] of Map.groupBy(records, (record) => record.kind)) {
    const hashes = ofKind.flatMap(({ digest, sieve }) => (sieve === null ? [] : mix(key, digest, sieve)));
    // A record of before has none.
    sieves.set(kind, hashes.length < ofKind.length ? undefined : new Set(hashes));
  }
  return { key, untils, last: Math.max(...untils.values()), lengths, sieves };
}

/** The names, addresses and numbers in a record that are compared: 50 ms. */
const MAX_COMPARED = 100_000;

/** A word that needs an HMAC or parsing counts as this many. */
const DEAR = 10;

/**
 * Whether an event is one that must not be stored again. Throws an Error if it has more words than can be compared. To read
 * 2 MiB takes up to a second.
 */
export function refuses(
  { key, untils, last, lengths, sieves }: Refusals,
  event: Pick<EventRow, 'eventId' | 'source' | 'messageType' | 'occurredAt' | 'payload' | 'values'>,
): boolean {
  const { eventId, source, messageType, payload, values } = event;
  const occurred = Date.parse(event.occurredAt);
  // What occurs after the erasures is not of them, and costs no more than this.
  if (occurred >= last) return false;
  let left = MAX_COMPARED;
  const spend = (cost: number) => {
    if ((left -= cost) < 0) throw new Error('more words than can be compared with those of erased persons');
  };
  const compared = new Set<string>();
  const isRefused = (kind: FingerprintKind, value: string) => {
    const candidate = `${kind} ${value}`;
    if (compared.has(candidate)) return false;
    compared.add(candidate);
    spend(DEAR);
    const digest = digestOf(key, kind, value);
    const isBefore = (name: string) => occurred < (untils.get(name) ?? -Infinity);
    return isBefore(nameOf(kind, digest, null)) || isBefore(nameOf(kind, digest, source));
  };
  const isAnyRefused = (kind: FingerprintKind, found: Iterable<string>) => {
    const sieve = sieves.get(kind);
    const isOne = (value: string) => {
      spend(1);
      return sieve?.has(roughHash(value)) !== false && isRefused(kind, value);
    };
    return sieves.has(kind) && Iterator.from(found).some(isOne);
  };
  const client = values[CLIENT_MAC.get(messageType) ?? -1];
  const isNamed = (text: string) =>
    isAnyRefused('user', namesIn(text, lengths)) || isAnyRefused('phone', phonesIn(text));
  return (
    isAnyRefused('event', [eventId]) ||
    (typeof client === 'string' && isAnyRefused('client', [macDigits(client)])) ||
    isAnyRefused(
      'mac',
      macsIn(payload, () => spend(DEAR)),
    ) ||
    ((lengths.size > 0 || sieves.has('phone')) && textsOf(JSON.parse(payload)).some(isNamed))
  );
}

/** Where the values of an event have the address of its client. A record of its deletion is no event of the client. */
const CLIENT_MAC = new Map<MessageType, number>(
  MESSAGE_TYPES.filter((type) => type !== 'GDPR_LOG_ALL').map((type) => [
    type,
    FIELDS[type].findIndex(({ column }) => column === 'client_mac'),
  ]),
);

const nameOf = (kind: FingerprintKind, digest: Buffer, source: string | null) =>
  `${kind} ${digest.toString('hex')} ${source ?? ''}`;
