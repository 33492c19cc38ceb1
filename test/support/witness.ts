import { createPublicKey, generateKeyPairSync, hash, sign } from 'node:crypto';
import { parseCheckpoints } from '../../src/seal/checkpoint.ts';
import { standIn, type StandIn } from './stand-in.ts';

const TIME = 1_700_000_000n;

/** A witness (C2SP tlog-witness) that keeps the consistency proofs it was given, for a foreign check. */
export interface TestWitness extends StandIn {
  readonly publicKey: string;
  readonly proofs: readonly object[];
  /** Forgets what it has signed: it then answers with its size. */
  forget(): void;
}

/** Starts a witness. */
export async function startWitness(): Promise<TestWitness> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const raw = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(12);
  const key = Buffer.concat([Buffer.of(4), raw]);
  const id = hash('sha256', Buffer.concat([Buffer.from('witness.test\n'), key]), 'buffer').subarray(0, 4);
  const proofs: object[] = [];
  const known = { size: 0, root: '' };
  const server = await standIn(({ body }) => {
    const [head = '', text = ''] = body.split('\n\n');
    const note = body.slice(head.length + 2);
    const [checkpoint] = parseCheckpoints(note);
    const [old, ...path] = head.split('\n');
    if (checkpoint === undefined || old !== `old ${known.size}`)
      return { status: 409, raw: `${known.size}\n` };
    const later = { size: checkpoint.size, root: checkpoint.root.toString('base64') };
    if (known.size > 0) {
      proofs.push({
        Earlier: known.size,
        EarlierRoot: known.root,
        Later: later.size,
        LaterRoot: later.root,
        Path: path,
      });
    }
    Object.assign(known, later);
    const time = Buffer.alloc(8);
    time.writeBigUInt64BE(TIME);
    const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${TIME}\n${text}\n`), privateKey);
    return { raw: `— witness.test ${Buffer.concat([id, time, signature]).toString('base64')}\n` };
  });
  return {
    ...server,
    publicKey: `witness.test+${id.toString('hex')}+${key.toString('base64')}`,
    proofs,
    forget: () => Object.assign(known, { size: 0, root: '' }),
  };
}
