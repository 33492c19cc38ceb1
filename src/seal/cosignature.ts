import { sign, verify } from 'node:crypto';
import type { Config } from '../config/config.ts';
import { asCosigner, COSIGNATURE, ED25519, parseVerifier, signatureLine } from './signed-note.ts';
import { signaturesOf, textOf, type LogKey, type NoteVerifier } from './signed-note.ts';

/** A witness that signs checkpoints it has found to extend those before (C2SP tlog-witness). */
export interface Witness extends NoteVerifier {
  /** The address that `add-checkpoint` is below. */
  readonly url: string;
  /** The key of its log, if the witness is an installation: that log is witnessed in return. */
  readonly log: NoteVerifier | undefined;
}

/**
 * Reads a witness from its public key and its address. The key of an installation's log is also that of its witness. Throws a
 * TypeError.
 */
export function parseWitness(publicKey: string, url: string): Witness {
  const key = parseVerifier(publicKey, [COSIGNATURE, ED25519]);
  const cosigner = asCosigner(key);
  return { ...cosigner, url, log: cosigner.id.equals(key.id) ? undefined : key };
}

/** The witnesses of the settings. Throws a TypeError if a key is none. */
export const readWitnesses = ({ anchors }: Pick<Config, 'anchors'>): readonly Witness[] =>
  anchors.witnesses.map(({ publicKey, url }) => parseWitness(publicKey, url));

/** The keys of the logs that the settings say to witness. Throws a TypeError if a key is none. */
export const witnessedKeys = (config: Pick<Config, 'anchors'>): readonly NoteVerifier[] =>
  readWitnesses(config).flatMap(({ log }) => log ?? []);

const TIME_BYTES = 8;

/** What a witness signs: the text of the checkpoint behind the time, in seconds since 1970. */
const signedText = (note: string, time: bigint) =>
  Buffer.from(`cosignature/v1\ntime ${time}\n${textOf(note)}`);

/** Signs a checkpoint as a witness (C2SP tlog-cosignature, Ed25519). Returns the line for its note. */
export function cosign(note: string, { privateKey, publicText }: LogKey, at: Date): string {
  const bytes = Buffer.alloc(TIME_BYTES);
  bytes.writeBigUInt64BE(BigInt(Math.floor(at.getTime() / 1000)));
  const signature = sign(null, signedText(note, bytes.readBigUInt64BE()), privateKey);
  return signatureLine(asCosigner(parseVerifier(publicText)), Buffer.concat([bytes, signature]));
}

/** Finds the signature of a witness in the note of a checkpoint: its line, and its time. Undefined: none is valid. */
export function findCosignature(note: string, witness: NoteVerifier) {
  for (const { line, signature } of signaturesOf(note, witness)) {
    if (signature.length <= TIME_BYTES) continue;
    const time = signature.readBigUInt64BE();
    const isValid = verify(null, signedText(note, time), witness.publicKey, signature.subarray(TIME_BYTES));
    if (isValid) return { line, time: new Date(Number(time) * 1000) };
  }
  return undefined;
}
