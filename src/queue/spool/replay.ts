import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { describeError } from '../../errors.ts';
import type { BatchQueue } from '../batch-queue.ts';
import { decodeBatch, GROUP_BOUNDS, weighDelivery } from '../delivery-batch.ts';
import type { QueuedDelivery } from '../delivery-batch.ts';
import { countOfGroup } from '../group-commit.ts';
import { logOutages } from '../log-outages.ts';
import type { Spool } from './spool.ts';

/** Which of these deliveries are committed in the database. */
export type FindStored = (deliveryIds: readonly string[]) => Promise<ReadonlySet<string>>;

/** What replaying needs. */
export interface ReplayOptions {
  readonly spool: Spool;
  readonly queue: Pick<BatchQueue, 'add' | 'countWaiting' | 'check'>;
  /** With it a segment stays until all of its deliveries are committed; without, until the queue has taken them. */
  readonly findStored: FindStored | undefined;
  /** Told whenever the queue has shown that it works, or that it does not. */
  readonly onQueueState: (works: boolean) => void;
  readonly logger: Logger;
}

/** How often the spool is looked at, and a queue that is away is tried. */
const INTERVAL_MS = 1_000;

/**
 * A backlog keeps this many jobs in front of the workers and waits beyond, so that new deliveries are stored soon
 * and a queue in memory does not have to hold all of the backlog. One job a second goes in any case.
 */
const MAX_WAITING_JOBS = 32;
const LONGEST_HOLD_MS = 1_000;
const HOLD_STEP_MS = 20;

/** Segments that wait for their rows at the same time. */
const MAX_UNCONFIRMED_SEGMENTS = 4;

/** What has no rows so long after it was queued is queued again: the queue has lost it, or will recognise it. */
const QUEUE_AGAIN_AFTER_MS = 5_000;

/** Replays the spool into the queue, segment by segment, until stopped. */
export function startReplay(options: ReplayOptions): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = replayUntil(stopping.signal, options);
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function replayUntil(signal: AbortSignal, options: ReplayOptions): Promise<void> {
  const onOutage = logOutages(options.logger, 'spool');
  const round = options.findStored === undefined ? replayOnce : confirmRounds(options.findStored);
  while (!signal.aborted) {
    await sleep(INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    try {
      await findQueueWorking(options);
      await round(options, signal);
    } catch (error) {
      onOutage(error instanceof Error ? error : new Error(describeError(error)));
    }
  }
}

async function findQueueWorking({ queue, spool, onQueueState }: ReplayOptions): Promise<void> {
  try {
    await queue.check();
  } catch (error) {
    onQueueState(false);
    throw error;
  }
  // With a backlog, only its first batch shows that the queue takes one: a full Redis answers, too.
  if (spool.bytes === 0) onQueueState(true);
}

/** Hands every segment to the queue. What stops half-way is handed over again as a whole: it is stored once. */
async function replayOnce(options: ReplayOptions, signal: AbortSignal): Promise<void> {
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
      'replayed a spool segment',
    );
  }
}

/** Rounds that remove what is committed, and queue again what is not in good time. */
function confirmRounds(findStored: FindStored) {
  const queuedAt = new Map<string, number>();
  return async (options: ReplayOptions, signal: AbortSignal): Promise<void> => {
    const { spool, logger, onQueueState } = options;
    const segments = await spool.segments();
    for (const segment of segments) queuedAt.set(segment, queuedAt.get(segment) ?? performance.now());
    for (const segment of segments.slice(0, MAX_UNCONFIRMED_SEGMENTS)) {
      const deliveries = await readDeliveries(spool, segment, logger);
      if (deliveries === undefined) continue;
      const missing = await findMissing(deliveries, findStored);
      if (missing.length === 0) {
        await spool.remove(segment);
        queuedAt.delete(segment);
      } else if (performance.now() - (queuedAt.get(segment) ?? 0) > QUEUE_AGAIN_AFTER_MS) {
        for (const group of groupsOf(missing)) {
          if (signal.aborted) return;
          await addWhenThereIsRoom(group, options);
        }
        queuedAt.set(segment, performance.now());
        logger.info({ segment, deliveries: missing.length }, 'queued again what has no rows yet');
      }
    }
    onQueueState(true);
  };
}

async function findMissing(
  deliveries: readonly QueuedDelivery[],
  findStored: FindStored,
): Promise<QueuedDelivery[]> {
  const missing: QueuedDelivery[] = [];
  for (const group of groupsOf(deliveries)) {
    const stored = await findStored(group.map(({ deliveryId }) => deliveryId));
    missing.push(...group.filter(({ deliveryId }) => !stored.has(deliveryId)));
  }
  return missing;
}

/** The deliveries of a segment; undefined when it holds something that this version cannot read: then it stays. */
async function readDeliveries(
  spool: Spool,
  segment: string,
  logger: Logger,
): Promise<QueuedDelivery[] | undefined> {
  try {
    const deliveries: QueuedDelivery[] = [];
    for (const payload of await spool.read(segment)) {
      deliveries.push(...decodeBatch(payload).deliveries);
      // A segment at a stretch would hold up answers for some 100 ms.
      await new Promise(setImmediate);
    }
    return deliveries;
  } catch (error) {
    logger.error(
      { err: error, segment },
      `a spool segment stays, because it cannot be read: ${describeError(error)}`,
    );
    return undefined;
  }
}

function* groupsOf(deliveries: readonly QueuedDelivery[]): Generator<readonly QueuedDelivery[]> {
  const weighed = deliveries.map((delivery) => ({ delivery, bytes: weighDelivery(delivery) }));
  for (let from = 0; from < weighed.length;) {
    const count = countOfGroup(weighed.slice(from, from + GROUP_BOUNDS.maxItems), GROUP_BOUNDS);
    yield deliveries.slice(from, from + count);
    from += count;
  }
}

async function addWhenThereIsRoom(
  group: readonly QueuedDelivery[],
  { queue, onQueueState }: ReplayOptions,
): Promise<void> {
  for (let held = 0; held < LONGEST_HOLD_MS; held += HOLD_STEP_MS) {
    if ((await queue.countWaiting()) < MAX_WAITING_JOBS) break;
    await sleep(HOLD_STEP_MS);
  }
  await queue.add(group);
  onQueueState(true);
}
