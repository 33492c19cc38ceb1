import { open } from 'node:fs/promises';
import { appendDurably } from '../lib/files/durable-file.ts';
import { describeError } from '../lib/errors.ts';
import { readAnswer } from '../lib/read-answer.ts';
import { isHtmlPage } from '../lib/text/html-page.ts';
import {
  addCosignature,
  addTimestamp,
  claimAnchor,
  recordAnchored,
  recordAnchorFailure,
} from '../store/seal/anchors.ts';
import type { Db } from '../store/server/database.ts';
import { latestCheckpoint, type StoredCheckpoint } from '../store/seal/seal-log.ts';
import { consistencyProof } from './merkle-tree.ts';
import { nodesIn } from './stored-tree.ts';
import { timeOfAnswer, timestampRequest } from './time-stamp.ts';
import { findCosignature, type Witness } from './cosignature.ts';

/** A place outside of the database that keeps checkpoints. */
export interface Anchor {
  readonly name: string;
  /** Seconds between two checkpoints. 0: each one. */
  readonly everySeconds: number;
  /**
   * Hands it a checkpoint. `known` is the size of the one before. Resolves with the number of leaves, if any, that this adds
   * to the tree: they need no other checkpoint. Rejects if it does not have the checkpoint.
   */
  put(checkpoint: StoredCheckpoint, known: number): Promise<number | undefined | void>;
}

const HOUR_SECONDS = 3_600;
const REQUEST_LIMIT_MS = 30_000;

/** A token of an authority has some kilobytes, a cosignature some hundred bytes. */
const MAX_ANSWER_BYTES = 1024 * 1024;

/** Longer than a request may take, so that two processes never try at the same time. */
const RETRY_SECONDS = 60;

/**
 * Hands the latest checkpoint to each anchor that does not have it. Any number of processes may do so: one at a time tries.
 * A failure is recorded, and `onFailure` receives it; nothing else waits for it.
 */
export async function putCheckpoint(
  db: Db,
  anchors: readonly Anchor[],
  onFailure: (anchor: string, error: unknown) => void,
  retrySeconds = RETRY_SECONDS,
): Promise<void> {
  const latest = await latestCheckpoint(db);
  if (latest === undefined) return;
  const { size } = latest;
  const put = async ({ name: anchor, everySeconds, ...one }: Anchor) => {
    const known = await claimAnchor(db, anchor, size, everySeconds, retrySeconds);
    if (known === undefined) return;
    try {
      const added = await one.put(latest, known);
      await recordAnchored(db, anchor, size + (added ?? 0));
    } catch (error) {
      onFailure(anchor, error);
      await recordAnchorFailure(db, anchor, describeError(error));
    }
  };
  await Promise.all(anchors.map(put));
}

/** A file to which each checkpoint is appended. */
export const fileAnchor = (file: string): Anchor => ({
  name: 'file',
  everySeconds: 0,
  async put({ note }) {
    const handle = await open(file, 'a', 0o644);
    try {
      const { size } = await handle.stat();
      await appendDurably(handle, Buffer.from(size === 0 ? note : `\n${note}`), size);
    } finally {
      await handle.close();
    }
  },
});

/** An address to which each checkpoint is posted. */
export const urlAnchor = (url: string): Anchor => ({
  name: 'url',
  everySeconds: 0,
  async put({ note }) {
    await accepted(await post(url, 'text/plain; charset=utf-8', note));
  },
});

/**
 * The destinations, each of which is sent a checkpoint as an event, once an hour. The first one comes an hour after the first
 * start.
 */
export const eventAnchor = (store: (record: object) => Promise<void>): Anchor => ({
  name: 'destinations',
  everySeconds: HOUR_SECONDS,
  async put({ note }, known) {
    if (known === 0) return 0;
    await store({ timeStamp: Date.now(), description: note });
    return 1;
  },
});

/** A time-stamp authority (RFC 3161), once an hour. Its answers are stored. */
export const timestampAnchor = (db: Db, url: string): Anchor => ({
  name: 'time-stamp authority',
  everySeconds: HOUR_SECONDS,
  async put({ size, note }) {
    const answer = await accepted(await post(url, 'application/timestamp-query', timestampRequest(note)));
    await addTimestamp(db, { size, note, madeAt: timeOfAnswer(answer, note), token: answer });
  },
});

/** A witness that signs each checkpoint after it has checked that the tree has only grown. */
export const witnessAnchor = (db: Db, witness: Witness): Anchor => ({
  name: `witness ${witness.name}`,
  everySeconds: 0,
  async put({ size, note }, known) {
    const add = async (from: number) => {
      const proof = await consistencyProof(nodesIn(db), from, size);
      return post(`${witness.url}/add-checkpoint`, 'text/plain', addCheckpointRequest(from, proof, note));
    };
    let response = await add(known);
    if (response.status === 409) {
      // It answers with the size that it knows.
      const actual = Number((await read(response)).toString());
      if (!Number.isSafeInteger(actual) || actual < 0 || actual > size) {
        throw new Error(`it knows a tree of ${actual} leaves, but this one has ${size}: run verify`);
      }
      response = await add(actual);
    }
    const signed = findCosignature(`${note}${(await accepted(response)).toString()}`, witness);
    if (signed === undefined) {
      throw new TypeError(`the answer has no valid signature by the witness ${witness.name}`);
    }
    await addCosignature(db, size, signed.line);
  },
});

async function post(url: string, type: string, body: string | Buffer<ArrayBuffer>): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': type, 'user-agent': 'xiq-sink' },
    body,
    redirect: 'error',
    signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
  });
}

const read = (response: Response) => readAnswer(response, MAX_ANSWER_BYTES, 'the server');

async function accepted(response: Response): Promise<Buffer> {
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  const answer = await read(response);
  if (isHtmlPage(response.headers.get('content-type'), answer.toString()))
    throw new Error('the server answered with an HTML page: is there a proxy in between?');
  return answer;
}

/** Writes the request of `add-checkpoint`: from the size that the witness knows, the proof and the checkpoint. */
function addCheckpointRequest(known: number, proof: readonly Buffer[], note: string): string {
  const hashes = proof.map((hash) => `${hash.toString('base64')}\n`).join('');
  return `old ${known}\n${hashes}\n${note}`;
}
