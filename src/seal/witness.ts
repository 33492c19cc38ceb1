import { hash } from 'node:crypto';
import { HttpError } from '../lib/errors.ts';
import type { Db } from '../store/server/database.ts';
import { keepFork, readWitnessed, replaceWitnessed } from '../store/seal/witnessed-logs.ts';
import { checkpointOf, type Checkpoint } from './checkpoint.ts';
import { cosign } from './cosignature.ts';
import { EMPTY_ROOT, rootsOfConsistency } from './merkle-tree.ts';
import { isSignedBy, signaturesOf, textOf, type LogKey, type NoteVerifier } from './signed-note.ts';

/**
 * A witness of logs (C2SP tlog-witness): signs a checkpoint with `key` if it contains the one that was signed before it. The
 * database is not asked, and nothing is kept, unless one of the logs has signed what is sent.
 */
export function createWitness(db: Db, logs: readonly NoteVerifier[], key: () => Promise<LogKey | undefined>) {
  return {
    /**
     * Answers `add-checkpoint` with the line that signs it, or with the size that the proof must begin with. Throws the
     * HttpErrors of the specification, and 503 without a key.
     */
    async addCheckpoint(request: string): Promise<{ readonly line: string } | { readonly known: number }> {
      const { old, proof, checkpoint } = parseRequest(request);
      const { origin, size, note } = checkpoint;
      const named = logs.filter(({ name }) => name === origin);
      if (named.length === 0) throw new HttpError(404, 'UNKNOWN_LOG', 'this witness does not know the log');
      const log = named.find((one) => isSignedBy(note, one));
      if (log === undefined) throw new HttpError(403, 'UNKNOWN_KEY', 'it is not signed with a known key');
      if (old > size) throw badRequest();
      const signing = await key();
      if (signing === undefined) throw new HttpError(503, 'NO_KEY', 'LOG_KEY_FILE contains no private key');
      const before = await readWitnessed(db, log.publicText);
      const known = headOf(before);
      if (old !== known.size) return { known: known.size };
      const beginning = beginningOf(checkpoint, known, proof);
      if (beginning === undefined) throw notConsistent('the proof does not match these two trees');
      if (!beginning.equals(known.root)) {
        await keepFork(db, log.publicText, `${before}\n${request}`);
        throw notConsistent('the tree does not contain the one that this witness signed before');
      }
      const line = cosign(note, signing, new Date());
      const [own] = signaturesOf(note, log);
      const next = `${textOf(note)}\n${own?.line}\n${line}\n`;
      if (await replaceWitnessed(db, log.publicText, before, next)) return { line };
      // Another process was faster.
      return { known: headOf(await readWitnessed(db, log.publicText)).size };
    },
    /** The checkpoint that was signed last, of the log whose name has this SHA-256 (hex). Undefined: there is none. */
    async latest(originHash: string): Promise<string | undefined> {
      const log = logs.find(({ name }) => hash('sha256', name) === originHash);
      return log && readWitnessed(db, log.publicText);
    },
  };
}

type Head = Pick<Checkpoint, 'size' | 'root'>;

const headOf = (note = ''): Head => checkpointOf(note) ?? { size: 0, root: EMPTY_ROOT };

const REQUEST = /^old (?<old>0|[1-9]\d{0,15})\n(?<proof>(?:[A-Za-z0-9+/]{43}=\n){0,63})\n(?<note>[^]+)$/;

function parseRequest(text: string) {
  const { old, proof = '', note = '' } = REQUEST.exec(text)?.groups ?? {};
  const checkpoint = checkpointOf(note);
  if (old === undefined || checkpoint?.note !== note) throw badRequest();
  const hashes = proof.split('\n').slice(0, -1);
  return { old: Number(old), proof: hashes.map((one) => Buffer.from(one, 'base64')), checkpoint };
}

const badRequest = () =>
  new HttpError(400, 'BAD_REQUEST', 'send "old SIZE", a proof, an empty line and a larger checkpoint');

const notConsistent = (message: string) => new HttpError(422, 'NOT_CONSISTENT', message);

/**
 * The root of the tree that a checkpoint is proven to begin with, at the known size. If it is another than the known one, the
 * log has signed two trees: whoever sent it cannot have made that up. Undefined: nothing is proven.
 */
function beginningOf({ size, root }: Head, known: Head, proof: readonly Buffer[]): Buffer | undefined {
  if (size > known.size && known.size > 0) {
    const roots = rootsOfConsistency(known.size, known.root, size, proof);
    return roots?.later.equals(root) === true ? roots.earlier : undefined;
  }
  if (proof.length > 0 || (size === 0 && !root.equals(EMPTY_ROOT))) return undefined;
  return size === known.size ? root : EMPTY_ROOT;
}
