import { sign } from 'node:crypto';
import { encode, Tagged } from 'cborg';
import { parseVerifier, type LogKey } from './signed-note.ts';
import type { EventProof } from './prove-event.ts';

/** Labels and values of COSE (RFC 9052, RFC 9053) and of its receipts (RFC 9942). */
const COSE_SIGN1 = 18;
const [ALGORITHM, EDDSA] = [1, -8];
const KEY_ID = 4;
const [TREE, RFC9162_SHA256] = [395, 1];
const [PROOFS, INCLUSION] = [396, -1];

/**
 * Writes a COSE receipt: that a leaf is in the tree whose root the key signs. The root itself is left out, so that a verifier
 * has to compute it from the entry and the path. The id of the key is that of its signed notes.
 */
export function writeReceipt(
  { leaf, size, path, root }: Pick<EventProof, 'leaf' | 'size' | 'path' | 'root'>,
  key: LogKey,
): Buffer {
  const head = encode(
    new Map<number, number | Buffer>([
      [ALGORITHM, EDDSA],
      [KEY_ID, parseVerifier(key.publicText).id],
      [TREE, RFC9162_SHA256],
    ]),
  );
  const proofs = new Map([[PROOFS, new Map([[INCLUSION, [encode([size, leaf, [...path]])]]])]]);
  const signature = sign(null, encode(['Signature1', head, Buffer.alloc(0), root]), key.privateKey);
  return Buffer.from(encode(new Tagged(COSE_SIGN1, [head, proofs, null, signature])));
}
