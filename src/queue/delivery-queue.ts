import type { Logger } from 'pino';
import type { Durability } from '../domain.ts';
import { describeError, OutageError } from '../errors.ts';
import { openBatchQueue } from './batch-queue.ts';
import { encodeBatch, GROUP_BOUNDS, weighDelivery } from './delivery-batch.ts';
import type { QueuedDelivery } from './delivery-batch.ts';
import type { QueueLocation } from './engine.ts';
import { createGroupCommit } from './group-commit.ts';
import { startReplay } from './spool/replay.ts';
import type { FindStored } from './spool/replay.ts';
import { openSpool } from './spool/spool.ts';
import type { SpoolSettings } from './spool/spool.ts';

/** What the ingest endpoint hands deliveries to. */
export interface DeliveryQueue {
  /** Resolves once the delivery is durable, and says where. Throws OutageError when nothing can take it. */
  enqueue(delivery: QueuedDelivery): Promise<Durability>;
  /** Resolves with where deliveries go now. Throws OutageError when nothing could take one. */
  check(): Promise<Durability>;
  /** Waits for what was handed over, then disconnects. */
  close(): Promise<void>;
}

export interface DeliveryQueueOptions {
  readonly location: QueueLocation;
  readonly spool: SpoolSettings;
  /**
   * Asks the database which deliveries it has. With it (`DURABILITY=strict`) every delivery is in the spool before
   * it is answered, and stays there until its rows are committed, whatever becomes of the queue.
   */
  readonly findStored: FindStored | undefined;
  readonly logger: Logger;
}

/**
 * Opens the way into the queue. Deliveries that arrive during one write go together in the next. While the queue
 * cannot take them they go to the spool, which is replayed into the queue when it can.
 */
export function openDeliveryQueue({
  location,
  spool: settings,
  findStored,
  logger,
}: DeliveryQueueOptions): DeliveryQueue {
  const queue = openBatchQueue(location, logger);
  const spool = openSpool(settings, logger);
  let queueWorks = true;
  const replay = startReplay({
    spool,
    queue,
    findStored,
    logger,
    onQueueState(works) {
      if (works && !queueWorks) logger.info('the queue takes deliveries again');
      queueWorks = works;
    },
  });

  /** After one failure the queue is not asked again until the replay has found it working: no sender waits for it. */
  async function tryQueue(deliveries: readonly QueuedDelivery[]): Promise<boolean> {
    if (!queueWorks) return false;
    try {
      await queue.add(deliveries);
      return true;
    } catch (error) {
      if (!(error instanceof OutageError)) throw error;
      queueWorks = false;
      logger.warn(`deliveries go to the spool until the queue works: ${describeError(error)}`);
      return false;
    }
  }

  const spoolBatch = (deliveries: readonly QueuedDelivery[]) => spool.append(encodeBatch(deliveries));

  async function commit(deliveries: readonly QueuedDelivery[]): Promise<Durability> {
    if (findStored !== undefined) {
      const [queued] = await Promise.all([tryQueue(deliveries), spoolBatch(deliveries)]);
      return queued ? 'queued' : 'spooled';
    }
    if (await tryQueue(deliveries)) return 'queued';
    await spoolBatch(deliveries);
    return 'spooled';
  }

  const group = createGroupCommit(commit, GROUP_BOUNDS);
  return {
    enqueue: (delivery) => group.add(delivery, weighDelivery(delivery)),
    async check() {
      if (queueWorks && findStored === undefined) return 'queued';
      await spool.check();
      return queueWorks ? 'queued' : 'spooled';
    },
    async close() {
      await group.idle();
      await replay.stop();
      await spool.close();
      if (spool.bytes > 0)
        logger.info({ bytes: spool.bytes }, 'the spool keeps deliveries until the next start');
      await queue.close();
    },
  };
}
