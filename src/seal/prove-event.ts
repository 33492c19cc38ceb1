import type { Db } from '../store/server/database.ts';
import { positionOf } from '../store/log/read-log.ts';
import { leafOf, readSalts } from '../store/seal/read-seals.ts';
import { checkpointBefore, latestCheckpoint } from '../store/seal/seal-log.ts';
import { lateBefore, readingSealed, readSealedEvents, type SealedEvents } from '../store/seal/sealed-rows.ts';
import type { StoredEvent } from '../events/stored-event.ts';
import { parseCheckpoints } from './checkpoint.ts';
import { inclusionProof, leafHash, rootOfPath } from './merkle-tree.ts';
import { compareWithSeen } from './seen-checkpoint.ts';
import { isForeign, type Trust } from './trust.ts';
import { entryAt, nodesIn } from './stored-tree.ts';

type EventToProve = Pick<StoredEvent, 'eventId' | 'occurredAt' | 'receivedAt'>;

export interface EventProof {
  readonly leaf: number;
  /** Leaves of the tree that the checkpoint signs. */
  readonly size: number;
  readonly signedAt: Date;
  /** Of an event that had no seal for more than a day after its arrival: until when. */
  readonly unsealedUntil: Date | undefined;
  /** From the leaf to the root. */
  readonly path: readonly Buffer[];
  readonly root: Buffer;
  /** The signed checkpoint. */
  readonly note: string;
  /** In the format of C2SP tlog-proof. The extra data is the entry: 16 bytes of salt, then the row's sealed form. */
  readonly text: string;
}

/** Whether an event can be proven: `waiting` for its seal or a checkpoint, or `altered` since it was sealed. */
export type Seal =
  | { readonly state: 'waiting' }
  | { readonly state: 'altered'; readonly leaf: number }
  | { readonly state: 'proven'; readonly proof: EventProof };

/** Proves that an event is in the tree of the latest checkpoint. Throws an Error with the reason if it is not. */
export async function proveEvent(db: Db, event: EventToProve, trust: Trust): Promise<EventProof> {
  const seal = await sealOf(db, event, trust);
  switch (seal.state) {
    case 'proven':
      return seal.proof;
    case 'waiting':
      throw new Error(
        `event ${event.eventId} is in no checkpoint yet; while serve runs, it signs one within a minute`,
      );
    case 'altered':
      throw new Error(`event ${event.eventId} differs from its seal, or the seal was changed: see verify`);
  }
}

/**
 * Compares the row of an event with the tree of the latest checkpoint, and that with what this machine knows: a tree that is
 * signed with a key that does not count, or that lacks what was seen here, proves nothing.
 */
export async function sealOf(db: Db, event: EventToProve, trust: Trust): Promise<Seal> {
  const position = await positionOf(db, event);
  const sealed = position === undefined ? undefined : await leafOf(db, position);
  const latest = await latestCheckpoint(db);
  const [checkpoint] = latest === undefined ? [] : parseCheckpoints(latest.note);
  if (position === undefined || sealed === undefined || latest === undefined || checkpoint === undefined) {
    return { state: 'waiting' };
  }
  const { leaf, version } = sealed;
  const { size, root, note } = checkpoint;
  if (leaf >= size) return { state: 'waiting' };
  const entry = await readEntry(db, leaf, { from: position, to: position + 1, version });
  const path = await inclusionProof(nodesIn(db), leaf, size);
  if (rootOfPath(leafHash(entry), leaf, size, path)?.equals(root) !== true) return { state: 'altered', leaf };
  if (isForeign(note, trust) || (await compareWithSeen(db, trust)) !== undefined)
    return { state: 'altered', leaf };
  const hashes = path.map((hash) => `${hash.toString('base64')}\n`).join('');
  const text = `c2sp.org/tlog-proof@v1\nextra ${entry.toString('base64')}\nindex ${leaf}\n${hashes}\n${note}`;
  const before = (await checkpointBefore(db, leaf))?.madeAt;
  const isLate = new Date(event.receivedAt) < (lateBefore(before) ?? new Date(0));
  const unsealedUntil = isLate ? before : undefined;
  // What the note says is signed; the column beside it is not.
  const signedAt = checkpoint.time ?? latest.madeAt;
  return { state: 'proven', proof: { leaf, size, signedAt, unsealedUntil, path, root, note, text } };
}

/** The entry of the tree: the salt, then the row's sealed form. */
async function readEntry(db: Db, leaf: number, event: SealedEvents): Promise<Buffer> {
  const salt = await readSalts(db, leaf, leaf + 1);
  const rows = await readingSealed(db, (trx) => readSealedEvents(trx, event));
  return entryAt(salt, 0, rows[0]?.record ?? null);
}
