import { randomBytes } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { activity } from '../lib/activity.ts';
import type { Db, Trx } from '../store/server/database.ts';
import {
  addCheckpoint,
  addLeaves,
  latestCheckpoint,
  readSealState,
  whileSealing,
  type SealState,
  type TilePiece,
} from '../store/seal/seal-log.ts';
import { hashEvents, planByKeys, SEALED_VERSION, type Positions } from '../store/seal/sealed-rows.ts';
import { takeDeliveries } from '../store/seal/sealed-deliveries.ts';
import { takeQuarters } from '../store/seal/sealed-quarters.ts';
import {
  addStatements,
  STATEMENT_VERSION,
  takeStatements,
  type Statement,
} from '../store/seal/statements.ts';
import { parseCheckpoints, writeCheckpoint } from './checkpoint.ts';
import {
  createFrontier,
  hashAt,
  HASH_BYTES,
  leafHash,
  readFrontier,
  rootAt,
  TILE_WIDTH,
} from './merkle-tree.ts';
import type { LogKey } from './signed-note.ts';
import { isSignedByKnown, type Trust } from './trust.ts';
import { entryAt, nodesIn, SALT_BYTES } from './stored-tree.ts';

/** Events, and changed rows, that one transaction seals. */
const STEP = 40 * TILE_WIDTH;

/**
 * The rows of this many steps are hashed at a time when there is much to seal. With one, a full load of 19,000 events/s left
 * the seal ever further behind.
 */
const STEPS_AT_ONCE = 2;
const STATEMENTS = 1_000;

/**
 * Deliveries are sealed once a minute, so that they fill their leaves, and up to this many entries of their queue in one
 * transaction: about as much work as the events.
 */
const DELIVERY_INTERVAL_MS = 60_000;
const QUEUED_DELIVERIES = 40;

/** Each comparison with the cloud proves few quarters of an hour: those of 15 minutes share a leaf, and let events go first. */
const QUARTER_INTERVAL_MS = 15 * 60_000;
const QUEUED_QUARTERS = 4_096;

/** Leaves that are hashed without a pause: about 3 ms. Under full load, each pause takes three times as long. */
const LEAVES_AT_ONCE = 1_024;

/** While events arrive, a checkpoint is at most this old. */
const CHECKPOINT_MS = 60_000;

/**
 * More new events than this since the last look, 2 s before, mean that storing needs the processor. The seal then waits, so
 * that a burst is stored as fast as without it: at full load, sealing takes an eighth of the machine.
 */
const BUSY_EVENTS = 4_000;
const PATIENCE_MS = 40_000;

export type Sealer = ReturnType<typeof createSealer>;

/**
 * Creates a sealer. Any number of processes may have one: one at a time seals. It needs three connections, two of them to
 * hash rows while the third one holds the lock. `trust` is read before each signature: a tree that lacks what this machine
 * has seen, or whose latest checkpoint is a stranger's, is not signed.
 */
export function createSealer(db: Db, key: LogKey, trust: () => Promise<Trust>) {
  let lastLogged = Infinity;
  let signedAt = -Infinity;
  let waitsSince: number | undefined;
  let deliveriesDue = 0;
  let quartersDue = 0;
  const hasher = createHasher(db);

  function mustWait({ sealed, logged }: SealState): boolean {
    const arrived = logged.to - lastLogged;
    lastLogged = logged.to;
    if (sealed.to >= logged.to) waitsSince = undefined;
    else waitsSince ??= performance.now();
    return arrived > BUSY_EVENTS && performance.now() - (waitsSince ?? 0) < PATIENCE_MS;
  }

  /** Signs a checkpoint of everything that is sealed, unless the latest one covers it. */
  const checkpoint = async () => {
    const known = await trust();
    await whileSealing(db, (trx, { size }) => signHead(trx, size, key, known));
    signedAt = performance.now();
    activity.stir();
  };
  /** A clock that was set back must not keep this process from signing, nor a checkpoint of the future. */
  const isDue = async (state: SealState) =>
    performance.now() - signedAt >= CHECKPOINT_MS && isCheckpointDue(db, state);
  return {
    checkpoint,
    /** Seals a step, if there is something; `more` if there is more at once, `idle` if all is sealed and signed. */
    async seal(): Promise<'more' | 'done' | 'idle'> {
      const state = await readSealState(db);
      if (await isDue(state)) await checkpoint();
      if (state.queued && (await whileSealing(db, sealChanges)) === true) return 'more';
      if (mustWait(state)) return 'done';
      if (performance.now() >= deliveriesDue) {
        if (state.deliveriesQueued && (await whileSealing(db, sealDeliveries)) === true) return 'more';
        deliveriesDue = performance.now() + DELIVERY_INTERVAL_MS;
      }
      if (nextSteps(state).length > 0) {
        const sealed = await whileSealing(db, (trx, now) => sealEvents(trx, now, hasher));
        return sealed === true ? 'more' : 'done';
      }
      if (performance.now() >= quartersDue) {
        if (state.quartersQueued && (await whileSealing(db, sealQuarters)) === true) return 'more';
        quartersDue = performance.now() + QUARTER_INTERVAL_MS;
      }
      return state.size > state.signed || state.deliveriesQueued ? 'done' : 'idle';
    },
  };
}

/** Signs the head of the tree. A tree that no longer contains what was signed before is not signed again. */
async function signHead(trx: Trx, size: number, key: LogKey, trust: Trust): Promise<void> {
  const latest = await latestCheckpoint(trx);
  if (size === (latest?.size ?? 0)) return;
  if (latest !== undefined && !isSignedByKnown(latest.note, trust)) {
    throw new Error(
      `the log is not signed: its latest checkpoint is signed with ${latest.publicKey}, a key that is not in LOG_KEY_FILE. If it is one of your keys, add it there as a line; if not, the database was changed`,
    );
  }
  const nodes = nodesIn(trx);
  const stored = latest === undefined ? [] : parseCheckpoints(latest.note);
  for (const earlier of trust.seen === undefined ? stored : [...stored, trust.seen]) {
    if (size < earlier.size || !(await rootAt(nodes, earlier.size)).equals(earlier.root)) {
      const where = earlier === trust.seen ? ', which this machine has seen' : '';
      throw new Error(
        `the log is not signed: it differs from the checkpoint of ${earlier.time?.toISOString() ?? 'an unknown time'}${where}: run verify to see what was changed`,
      );
    }
  }
  const madeAt = new Date();
  const note = writeCheckpoint(size, await rootAt(nodes, size), madeAt, key);
  await addCheckpoint(trx, { size, madeAt, note, publicKey: key.publicText });
}

async function isCheckpointDue(db: Db, { size }: SealState): Promise<boolean> {
  const latest = await latestCheckpoint(db);
  const age = Date.now() - (latest?.madeAt.getTime() ?? 0);
  return size > (latest?.size ?? 0) && (age >= CHECKPOINT_MS || age < 0);
}

/** The events to seal next: new ones, then those of before the log, which enter it from the latest to the earliest. */
function nextSteps({ sealed, logged }: SealState): readonly Positions[] {
  const steps: Positions[] = [];
  for (let from = sealed.to; from < logged.to && steps.length < STEPS_AT_ONCE; from += STEP) {
    steps.push({ from, to: Math.min(logged.to, from + STEP) });
  }
  if (steps.length > 0 || sealed.from === logged.from) return steps;
  return [{ from: Math.max(logged.from, sealed.from - STEP), to: sealed.from }];
}

interface HashedStep {
  readonly positions: Positions;
  readonly timeline: string | null;
  readonly salts: Buffer;
  readonly hashes: Promise<Buffer>;
}

/**
 * Creates the function that hashes the rows of the first of these steps, and begins with the others. Rows stay as they are
 * until they are sealed: an erasure waits for that. A standby that takes over may have others at these positions.
 */
export function createHasher(db: Db) {
  let begun: readonly HashedStep[] = [];

  function hash(positions: Positions, timeline: string | null): HashedStep {
    const salts = randomBytes((positions.to - positions.from) * SALT_BYTES);
    const hashes = db.transaction().execute(async (trx) => {
      await planByKeys(trx);
      return (await hashEvents(trx, { ...positions, version: SEALED_VERSION }, salts)).hashes;
    });
    // A failure is reported when the step is sealed. It is hashed again then.
    hashes.catch(() => {
      begun = begun.filter((one) => one.hashes !== hashes);
    });
    return { positions, timeline, salts, hashes };
  }

  const hashed = (positions: Positions, timeline: string | null) =>
    begun.find((one) => isDeepStrictEqual([one.positions, one.timeline], [positions, timeline])) ??
    hash(positions, timeline);

  return ([first, ...others]: readonly [Positions, ...Positions[]], timeline: string | null): HashedStep => {
    const next = hashed(first, timeline);
    // A short step will be longer when its turn comes.
    begun = [
      next,
      ...others.filter(({ from, to }) => to - from === STEP).map((one) => hashed(one, timeline)),
    ];
    return next;
  };
}

/** Seals the next events. Returns whether there were some. */
async function sealEvents(trx: Trx, state: SealState, hasher: ReturnType<typeof createHasher>) {
  const [first, ...others] = nextSteps(state);
  if (first === undefined) return false;
  const { positions, salts, hashes: hashing } = hasher([first, ...others], state.timeline);
  const hashes = await hashing;
  const count = positions.to - positions.from;
  if (hashes.length !== count * HASH_BYTES) {
    throw new Error(
      `the log has no entry for some of the positions ${positions.from} to ${positions.to - 1}`,
    );
  }
  const tiles = await growTree(trx, state.size, hashes);
  await addLeaves(trx, { firstLeaf: state.size, count, positions, version: SEALED_VERSION, tiles, salts });
  return true;
}

/** Creates the function that seals up to so many entries of a queue. It returns whether there were some. */
function sealQueued(take: (trx: Trx, limit: number) => Promise<readonly Statement[]>, limit: number) {
  return async (trx: Trx, { size: firstLeaf }: SealState): Promise<boolean> => {
    await planByKeys(trx);
    const statements = await take(trx, limit);
    const count = statements.length;
    if (count === 0) return false;
    const salts = randomBytes(count * SALT_BYTES);
    const hashes = Buffer.concat(statements.map(({ record }, at) => leafHash(entryAt(salts, at, record))));
    const tiles = await growTree(trx, firstLeaf, hashes);
    await addStatements(trx, firstLeaf, statements);
    await addLeaves(trx, {
      firstLeaf,
      count,
      positions: undefined,
      version: STATEMENT_VERSION,
      tiles,
      salts,
    });
    return true;
  };
}

const sealChanges = sealQueued(takeStatements, STATEMENTS);
const sealDeliveries = sealQueued(takeDeliveries, QUEUED_DELIVERIES);
const sealQuarters = sealQueued(takeQuarters, QUEUED_QUARTERS);

/** The nodes that new leaves add to the tree, by tile. */
async function growTree(trx: Trx, size: number, hashes: Buffer): Promise<readonly TilePiece[]> {
  const pieces = new Map<string, { level: number; number: number; hashes: Buffer[] }>();
  const add = (level: number, index: number, node: Buffer) => {
    const number = Math.floor(index / TILE_WIDTH);
    const piece = pieces.get(`${level}/${number}`) ?? { level, number, hashes: [] };
    piece.hashes.push(node);
    pieces.set(`${level}/${number}`, piece);
  };
  const frontier = createFrontier(add, size, await readFrontier(nodesIn(trx), size));
  for (let leaf = 0; leaf < hashes.length / HASH_BYTES; leaf += 1) {
    frontier.append(hashAt(hashes, leaf));
    if (leaf % LEAVES_AT_ONCE === LEAVES_AT_ONCE - 1) await nextTurn();
  }
  return Array.from(pieces.values(), (piece) => ({ ...piece, hashes: Buffer.concat(piece.hashes) }));
}
