import { verify } from 'node:crypto';
import { COSIGNATURE, ID_BYTES, parseVerifier, type NoteVerifier } from './signed-note.ts';

/** A witness that signs checkpoints it has found to extend those before (C2SP tlog-witness). */
export interface Witness extends NoteVerifier {
  /** The address that `add-checkpoint` is below. */
  readonly url: string;
}

/** Reads a witness from its public key and its address. Throws a TypeError. */
export const parseWitness = (publicKey: string, url: string): Witness => ({
  ...parseVerifier(publicKey, COSIGNATURE),
  url,
});

const TIME_BYTES = 8;

/** Finds the line of a witness among signatures (C2SP tlog-cosignature). Throws a TypeError if none is valid for the note. */
export function findCosignature(signatures: string, note: string, { name, id, publicKey }: Witness): string {
  const text = note.slice(0, note.lastIndexOf('\n\n') + 1);
  const line = signatures.split('\n').find((one) => {
    const bytes = Buffer.from(one.split(' ')[2] ?? '', 'base64');
    if (!one.startsWith(`— ${name} `) || !bytes.subarray(0, ID_BYTES).equals(id)) return false;
    if (bytes.length <= ID_BYTES + TIME_BYTES) return false;
    const time = bytes.readBigUInt64BE(ID_BYTES);
    const signed = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`);
    return verify(null, signed, publicKey, bytes.subarray(ID_BYTES + TIME_BYTES));
  });
  if (line === undefined) throw new TypeError(`the answer has no valid signature of the witness ${name}`);
  return line;
}

/** Writes the request of `add-checkpoint`: from the size that the witness knows, the proof and the checkpoint. */
export function addCheckpointRequest(known: number, proof: readonly Buffer[], note: string): string {
  const hashes = proof.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `old ${known}\n${hashes}\n${note}`;
}
