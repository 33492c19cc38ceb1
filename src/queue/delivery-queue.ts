import type { Telemetry } from 'bullmq';
import type { Logger } from 'pino';
import type { Durability } from '../domain.ts';
import { describeError, OutageError } from '../errors.ts';
import { createBatchLog } from './batch-log.ts';
import { openBatchQueue } from './batch-queue.ts';
import type { QueueMeasure } from './batch-queue.ts';
import { encodeBatch, GROUP_BOUNDS, weighDelivery } from './delivery-batch.ts';
import type { QueuedDelivery } from './delivery-batch.ts';
import type { QueueLocation } from './engine.ts';
import { createGroupCommit } from './group-commit.ts';
import { startReplay } from './spool/replay.ts';
import type { FindStored } from './spool/replay.ts';
import { openSpool } from './spool/spool.ts';
import type { SpoolFigures, SpoolRoom, SpoolSettings } from './spool/spool.ts';

/** What the ingest endpoint hands deliveries to. */
export interface DeliveryQueue {
  /** Resolves once the delivery is durable, and says where. Throws OutageError when nothing can take it. */
  enqueue(delivery: QueuedDelivery): Promise<Durability>;
  /** Resolves with where deliveries go now. Throws OutageError when nothing could take one. */
  check(): Promise<Durability>;
  /** Asks the queue what is in it. Throws OutageError when it does not answer. */
  measure(): Promise<QueueMeasure>;
  /** How the queue has last shown itself, and what is in the spool; asks nobody. */
  state(): QueueState;
  spoolRoom(): Promise<SpoolRoom>;
  /** Waits for what was handed over, then disconnects. */
  close(): Promise<void>;
}

/** How the way into the queue is. */
interface QueueState {
  readonly works: boolean;
  /** Why it does not work, with what it last said. */
  readonly failure: string | undefined;
  readonly spool: SpoolFigures;
}

/** Is told of every batch that has become durable, and how many deliveries it had. */
export type OnCommitted = (deliveries: number) => void;

/** What ties the handing over of deliveries to their traces. */
interface QueueTracing {
  readonly telemetry: Telemetry;
  /** Runs the commit of a batch as part of the trace of its deliveries. */
  commit<T>(deliveries: readonly QueuedDelivery[], work: () => Promise<T>): Promise<T>;
}

export interface DeliveryQueueOptions {
  readonly location: QueueLocation;
  readonly spool: SpoolSettings;
  /**
   * Asks the database which deliveries it has. With it (`DURABILITY=strict`) every delivery is in the spool before
   * it is answered, and stays there until its rows are committed, whatever becomes of the queue.
   */
  readonly findStored: FindStored | undefined;
  readonly onCommitted?: OnCommitted | undefined;
  readonly tracing?: QueueTracing | undefined;
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
  onCommitted,
  tracing,
  logger,
}: DeliveryQueueOptions): DeliveryQueue {
  const queue = openBatchQueue(location, logger, tracing?.telemetry);
  const spool = openSpool(settings, logger);
  const logBatch = createBatchLog(logger);
  let queueWorks = true;
  let failure: string | undefined;
  const replay = startReplay({
    spool,
    queue,
    findStored,
    logger,
    onQueueState(works) {
      if (works && !queueWorks) logger.info('the queue takes deliveries again');
      queueWorks = works;
      failure = works ? undefined : (failure ?? 'the queue does not answer');
    },
  });

  /** After one failure the queue is not asked again until the replay has found it working: no sender waits for it. */
  async function tryQueue(deliveries: readonly QueuedDelivery[]): Promise<string | undefined> {
    if (!queueWorks) return undefined;
    try {
      return await queue.add(deliveries);
    } catch (error) {
      if (!(error instanceof OutageError)) throw error;
      queueWorks = false;
      failure = describeError(error);
      logger.warn(`deliveries go to the spool until the queue works: ${failure}`);
      return undefined;
    }
  }

  const spoolBatch = (deliveries: readonly QueuedDelivery[]) => spool.append(encodeBatch(deliveries));

  /** Makes a batch durable. Gives the id of its job; undefined when only the spool has it. */
  async function keep(deliveries: readonly QueuedDelivery[]): Promise<string | undefined> {
    if (findStored !== undefined) {
      const [job] = await Promise.all([tryQueue(deliveries), spoolBatch(deliveries)]);
      return job;
    }
    const job = await tryQueue(deliveries);
    if (job === undefined) await spoolBatch(deliveries);
    return job;
  }

  async function commit(deliveries: readonly QueuedDelivery[]): Promise<Durability> {
    const began = performance.now();
    const job = await (tracing === undefined
      ? keep(deliveries)
      : tracing.commit(deliveries, () => keep(deliveries)));
    const durability = job === undefined ? 'spooled' : 'queued';
    onCommitted?.(deliveries.length);
    logBatch({ job, durability, ms: Math.round(performance.now() - began) }, deliveries, 'batch taken');
    return durability;
  }

  const group = createGroupCommit(commit, GROUP_BOUNDS);
  return {
    enqueue: (delivery) => group.add(delivery, weighDelivery(delivery)),
    async check() {
      if (queueWorks && findStored === undefined) return 'queued';
      await spool.check();
      return queueWorks ? 'queued' : 'spooled';
    },
    measure: () => queue.measure(),
    state: () => ({ works: queueWorks, failure, spool: spool.figures() }),
    spoolRoom: () => spool.room(),
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
