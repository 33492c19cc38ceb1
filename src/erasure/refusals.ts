import { createHash, createHmac } from 'node:crypto';
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

type RefusableEvent = Pick<
  EventRow,
  'eventId' | 'source' | 'messageType' | 'occurredAt' | 'payload' | 'values'
>;

/** What must not be stored again. */
export interface Refusals {
  refuses(event: RefusableEvent): boolean;
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
  { users, macs, phones, clients = [] }: Person,
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
    ...users.map(foldName).map(({ name, words }) => record('user', name, words)),
    ...macs.map((mac) => record('mac', macDigits(mac))),
    ...clients.map((mac) => record('client', macDigits(mac))),
    ...phones.map((phone) => record('phone', phoneDigits(phone))),
    ...eventIds.map((id) => record('event', id)),
  ];
}

function createRefusals(records: readonly StoredFingerprint[], key: Buffer): Refusals {
  const keyId = keyIdOf(key);
  if (records.some((record) => record.keyId !== keyId)) {
    throw new OutageError(
      'the key that tells erased persons is another one than that of an erasure: see docs/erasure.md',
    );
  }
  const untils = new Map(
    records.map(({ kind, digest, source, until }) => [nameOf(kind, digest, source), until.getTime()]),
  );
  const lengths = new Set(records.filter(({ kind }) => kind === 'user').map(({ words }) => words));
  const hasKind = (kind: FingerprintKind) => records.some((record) => record.kind === kind);
  const [hasMac, hasPhone, hasEvent] = [hasKind('mac'), hasKind('phone'), hasKind('event')];
  const hasClient = hasKind('client');
  const last = Math.max(...untils.values());
  return {
    refuses({ eventId, source, messageType, occurredAt, payload, values }) {
      const occurred = Date.parse(occurredAt);
      // What occurs after the erasures is not of them, and costs no more than this.
      if (occurred >= last) return false;
      const isRefused = (kind: FingerprintKind, value: string) => {
        const digest = digestOf(key, kind, value);
        const isBefore = (name: string) => occurred < (untils.get(name) ?? -Infinity);
        return isBefore(nameOf(kind, digest, null)) || isBefore(nameOf(kind, digest, source));
      };
      const client = hasClient ? values[CLIENT_MAC.get(messageType) ?? -1] : undefined;
      const isNamed = (text: string) =>
        namesIn(text, lengths).some((name) => isRefused('user', name)) ||
        (hasPhone && phonesIn(text).some((phone) => isRefused('phone', phone)));
      return (
        (hasEvent && isRefused('event', eventId)) ||
        (typeof client === 'string' && isRefused('client', macDigits(client))) ||
        (hasMac && macsIn(payload).some((mac) => isRefused('mac', mac))) ||
        ((lengths.size > 0 || hasPhone) && textsOf(JSON.parse(payload)).some(isNamed))
      );
    },
  };
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
