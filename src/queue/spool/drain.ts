import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError, OutageError, toError } from '../../lib/errors.ts';
import type { BatchQueue } from '../batch-queue.ts';
import { decodeBatch, GROUP_BOUNDS, deliverySize, type QueuedDelivery } from '../delivery-batch.ts';
import { countOfGroup } from '../../lib/group-commit.ts';
import { repeat, type Repetition } from '../../lib/repeat.ts';
import { failuresIn } from '../../lib/failure-log.ts';
import { logOutages } from '../batch-logging.ts';
import { createKeptSegments, type FindStored, type Found } from './kept-segments.ts';
import type { Spool } from './spool.ts';

export interface DrainOptions {
  readonly spool: Spool;
  readonly queue: Pick<BatchQueue, 'add' | 'countJobs' | 'check'>;
  /** With it a segment stays until its deliveries are committed; without it, until the queue has accepted them. */
  readonly findStored: FindStored | undefined;
  /** How long a segment stays after that, unless the commits are replicated, in ms. */
  readonly keepMs: number;
  /** Called whenever the queue turns out to work, or not to work: then with the reason. */
  readonly onQueueState: (works: boolean, failure?: string) => void;
  readonly logger: Logger;
}

/** The spool, and a queue that is down, are checked at this interval. */
const INTERVAL_MS = 1_000;

/**
 * A backlog keeps the workers busy with this many jobs and waits with the rest, so new deliveries are answered and stored
 * soon, and a queue in memory need not contain the whole backlog. One job per second is added in any case.
 */
const MAX_JOBS_AHEAD = 2;
const LONGEST_HOLD_MS = 1_000;
const HOLD_STEP_MS = 20;

/** The number of segments that wait for their rows at the same time. */
const MAX_UNCONFIRMED_SEGMENTS = 4;

/** A delivery without rows this long after it was queued is queued again: the queue has lost it, or will recognize it. */
const QUEUE_AGAIN_AFTER_MS = 5_000;

/** Drains the spool into the queue, segment by segment, until stopped. */
export function startDrain(options: DrainOptions): Repetition {
  const stopping = new AbortController();
  const onOutage = logOutages(options.logger, 'spool', 'spool');
  const round = options.findStored === undefined ? drainOnce : confirmRounds(options, options.findStored);
  return repeat({
    pauseMs: INTERVAL_MS,
    delayMs: INTERVAL_MS,
    stopping,
    async work() {
      await findQueueWorking(options);
      await round(options, stopping.signal);
      failuresIn(options.logger).clear('spool');
    },
    onError: (error) => onOutage(toError(error)),
  });
}

async function findQueueWorking({ queue, spool, onQueueState }: DrainOptions): Promise<void> {
  try {
    await queue.check();
  } catch (error) {
    onQueueState(false, describeError(error));
    throw error;
  }
  // With a backlog, only its first batch shows that the queue accepts one: a full Redis also answers the check.
  if (spool.bytes === 0) onQueueState(true);
}

/** Adds every segment to the queue. After an interruption the whole segment is added again: it is stored once. */
async function drainOnce(options: DrainOptions, signal: AbortSignal): Promise<void> {
  const { spool, logger } = options;
  for (const segment of await spool.segments()) {
    if (signal.aborted) return;
    const began = performance.now();
    const deliveries = await readDeliveries(spool, segment, logger);
    if (deliveries === undefined) continue;
    for (const group of groupsOf(deliveries)) {
      if (signal.aborted) return;
      await addWhenThereIsRoom(group, options);
    }
    await spool.remove(segment);
    logger.info(
      {
        segment,
        deliveries: deliveries.length,
        ms: Math.round(performance.now() - began),
        spoolBytes: spool.bytes,
      },
      'drained a spool segment',
    );
  }
}

/** Rounds that keep or remove committed segments, and queue deliveries again that are not committed in time. */
function confirmRounds({ spool, logger, keepMs }: DrainOptions, findStored: FindStored) {
  const queuedAt = new Map<string, number>();
  const kept = createKeptSegments(spool, findStored, keepMs, logger);
  return async (options: DrainOptions, signal: AbortSignal): Promise<void> => {
    // What is missing of these is in no queue.
    for (const segment of await kept.review()) queuedAt.set(segment, -Infinity);
    const segments = await spool.segments();
    for (const segment of segments) queuedAt.set(segment, queuedAt.get(segment) ?? performance.now());
    let unconfirmed = 0;
    for (const segment of segments) {
      if (signal.aborted || unconfirmed === MAX_UNCONFIRMED_SEGMENTS) break;
      const deliveries = await readDeliveries(spool, segment, logger);
      if (deliveries === undefined) continue;
      const { missing, found } = await findMissing(deliveries, findStored);
      if (missing.length === 0) {
        await kept.confirm(segment, found);
        queuedAt.delete(segment);
        continue;
      }
      unconfirmed += 1;
      if (performance.now() - (queuedAt.get(segment) ?? 0) > QUEUE_AGAIN_AFTER_MS) {
        for (const group of groupsOf(missing)) {
          if (signal.aborted) return;
          await addWhenThereIsRoom(group, options);
        }
        queuedAt.set(segment, performance.now());
        logger.info({ segment, deliveries: missing.length }, 'requeued deliveries that have no rows yet');
      }
    }
    options.onQueueState(true);
  };
}

async function findMissing(
  deliveries: readonly QueuedDelivery[],
  findStored: FindStored,
): Promise<{ missing: readonly QueuedDelivery[]; found: readonly Found[] }> {
  const found = await Array.fromAsync(groupsOf(deliveries), (group) =>
    findStored(group.map(({ deliveryId }) => deliveryId)),
  );
  const stored = new Set(found.flatMap((answer) => [...answer.stored]));
  return { missing: deliveries.filter(({ deliveryId }) => !stored.has(deliveryId)), found };
}

/** The deliveries of a segment; undefined if this version can't read it, and it stays, or if another process has it now. */
async function readDeliveries(
  spool: Spool,
  segment: string,
  logger: Logger,
): Promise<QueuedDelivery[] | undefined> {
  try {
    const deliveries: QueuedDelivery[] = [];
    const payloads = await spool.read(segment);
    if (payloads === undefined) return undefined;
    for (const payload of payloads) {
      deliveries.push(...decodeBatch(payload).deliveries);
      // A whole segment without a break would delay answers by about 100 ms.
      await nextTurn();
    }
    return deliveries;
  } catch (error) {
    const level = error instanceof OutageError ? 'warn' : 'error';
    logger[level](
      { err: error, segment },
      `can't read a spool segment, so it stays: ${describeError(error)}`,
    );
    return undefined;
  }
}

function* groupsOf(deliveries: readonly QueuedDelivery[]): Generator<readonly QueuedDelivery[]> {
  const weighed = deliveries.map((delivery) => ({ delivery, bytes: deliverySize(delivery) }));
  for (let from = 0; from < weighed.length;) {
    const count = countOfGroup(weighed.slice(from, from + GROUP_BOUNDS.maxItems), GROUP_BOUNDS);
    yield deliveries.slice(from, from + count);
    from += count;
  }
}

async function addWhenThereIsRoom(group: readonly QueuedDelivery[], { queue, onQueueState }: DrainOptions) {
  for (let held = 0; held < LONGEST_HOLD_MS; held += HOLD_STEP_MS) {
    if ((await queue.countJobs()) < MAX_JOBS_AHEAD) break;
    await sleep(HOLD_STEP_MS);
  }
  await queue.add(group);
  onQueueState(true);
}
