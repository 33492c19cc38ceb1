import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, sign, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

/** The key of a log: signs its checkpoints as notes (C2SP signed-note). */
export interface LogKey {
  /** Name of the key, and origin of the log. */
  readonly name: string;
  readonly privateKey: KeyObject;
  /** The public half as text, which tools for signed notes take: `NAME+ID+KEY`. */
  readonly publicText: string;
}

export interface NoteVerifier {
  readonly name: string;
  readonly id: Buffer;
  readonly publicKey: KeyObject;
  /** What it was read from. */
  readonly publicText: string;
}

/** Kinds of signatures: of a log, and of a witness (C2SP tlog-cosignature). */
export const ED25519 = 1;
export const COSIGNATURE = 4;

/** A signature begins with the id of its key. */
const ID_BYTES = 4;

/** Ed25519 keys in DER have these bytes in front of the key itself (RFC 8410). */
const PRIVATE_DER = Buffer.from('302e020100300506032b657004220420', 'hex');
const PUBLIC_DER = Buffer.from('302a300506032b6570032100', 'hex');

/** Makes a key. Its text is what `parseLogKey` reads: keep it secret. */
export function generateLogKey(name: string): string {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(PRIVATE_DER.length);
  const bytes = Buffer.concat([Buffer.of(ED25519), seed]);
  return `PRIVATE+KEY+${name}+${idOf(name, withKind(publicKey)).toString('hex')}+${bytes.toString('base64')}`;
}

/** Reads a key as `generateLogKey` writes it, which is the form of Go's package `note`. Throws a TypeError. */
export function parseLogKey(text: string): LogKey {
  const match = /^PRIVATE\+KEY\+(?<name>[^\s+]+)\+(?<id>[\da-f]{8})\+(?<bytes>[\w+/=]+)\s*$/.exec(text);
  const { name = '', id = '', bytes = '' } = match?.groups ?? {};
  const raw = Buffer.from(bytes, 'base64');
  if (raw[0] !== ED25519 || raw.length !== 33) throw new TypeError('this is not a signed-note private key');
  const der = Buffer.concat([PRIVATE_DER, raw.subarray(1)]);
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  const publicKey = withKind(createPublicKey(privateKey));
  if (idOf(name, publicKey).toString('hex') !== id) {
    throw new TypeError(`the private key of ${name} does not match its id ${id}`);
  }
  return { name, privateKey, publicText: `${name}+${id}+${publicKey.toString('base64')}` };
}

/** Reads the text of a public key of one of these kinds. Throws a TypeError. */
export function parseVerifier(text: string, kinds: readonly number[] = [ED25519]): NoteVerifier {
  const match = /^(?<name>[^\s+]+)\+(?<id>[\da-f]{8})\+(?<bytes>[\w+/=]+)\s*$/.exec(text);
  const { name = '', id = '', bytes = '' } = match?.groups ?? {};
  const raw = Buffer.from(bytes, 'base64');
  if (!kinds.includes(raw[0] ?? 0) || raw.length !== 33 || idOf(name, raw).toString('hex') !== id) {
    throw new TypeError(`"${text}" is not a signed-note public key`);
  }
  const der = Buffer.concat([PUBLIC_DER, raw.subarray(1)]);
  const publicKey = createPublicKey({ key: der, format: 'der', type: 'spki' });
  return { name, id: Buffer.from(id, 'hex'), publicKey, publicText: text };
}

/** The same key as it signs for a witness: what it signs then begins in another way, and its id is another. */
export const asCosigner = (key: NoteVerifier): NoteVerifier => ({
  ...key,
  id: idOf(key.name, withKind(key.publicKey, COSIGNATURE)),
});

/** A public key as notes have it: its kind, then its 32 bytes. */
const withKind = (key: KeyObject, kind = ED25519) =>
  Buffer.concat([Buffer.of(kind), key.export({ format: 'der', type: 'spki' }).subarray(PUBLIC_DER.length)]);

const idOf = (name: string, key: Buffer) =>
  hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), key]), 'buffer').subarray(0, ID_BYTES);

/** Signs a text, which ends with a newline. */
export function signNote(text: string, { privateKey, publicText }: LogKey): string {
  const signature = sign(null, Buffer.from(text), privateKey);
  return `${text}\n${signatureLine(parseVerifier(publicText), signature)}\n`;
}

/** A signature as a note has it, without the end of the line. */
export const signatureLine = ({ name, id }: NoteVerifier, signature: Buffer) =>
  `— ${name} ${Buffer.concat([id, signature]).toString('base64')}`;

/** What the signatures of a note are of. */
export const textOf = (note: string) => note.slice(0, note.lastIndexOf('\n\n') + 1);

/** The text of a note that vouches for a document. No checkpoint reads like it: their second line is a number. */
export const documentNote = (origin: string, name: string, document: string) =>
  `${origin}\n${name}\n${hash('sha256', document, 'base64')}\n`;

/** Whether a note has this text and one signature, which is of the key. */
export const isNoteOf = (note: string, text: string, verifier: NoteVerifier) =>
  note.startsWith(`${text}\n`) &&
  /^— \S+ \S+\n$/.test(note.slice(text.length + 1)) &&
  isSignedBy(note, verifier);

/** Whether a key has signed a note. Signatures of other keys are passed over. */
export function isSignedBy(note: string, key: NoteVerifier): boolean {
  const text = Buffer.from(textOf(note));
  const found = signaturesOf(note, key);
  return found.length > 0 && found.every(({ signature }) => verify(null, text, key.publicKey, signature));
}

/** The signatures of a note that claim to be of a key, each with its line. */
export const signaturesOf = (note: string, { name, id }: NoteVerifier) =>
  note
    .slice(textOf(note).length + 1)
    .split('\n')
    .filter((line) => line.startsWith(`— ${name} `))
    .map((line) => ({ line, bytes: Buffer.from(line.slice(`— ${name} `.length), 'base64') }))
    // There is one text for each signature.
    .filter(({ line, bytes }) => line === `— ${name} ${bytes.toString('base64')}`)
    .filter(({ bytes }) => bytes.subarray(0, ID_BYTES).equals(id))
    .map(({ line, bytes }) => ({ line, signature: bytes.subarray(ID_BYTES) }));
