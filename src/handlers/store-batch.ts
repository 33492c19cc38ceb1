import type { Logger } from 'pino';
import { createRefusalReader } from '../erasure/refusals.ts';
import { activity } from '../lib/activity.ts';
import { describeError } from '../lib/errors.ts';
import { GroupCommit } from '../lib/group-commit.ts';
import { deliverySize, newDeliveryId, type ReadDelivery } from '../queue/delivery-batch.ts';
import { UNOBSERVED, type DeliveryObserver } from '../queue/delivery-observer.ts';
import type { Lane } from '../queue/lanes.ts';
import type { NewDelivery } from '../store/deliveries/deliveries.ts';
import { MonthsOnDemand } from '../store/partitions/months-on-demand.ts';
import type { Db } from '../store/server/database.ts';
import { setAsideWhole } from './delivery-to-events.ts';
import { summarize, type StoredBatch } from './delivery-tally.ts';
import { STORING_RULES } from './failure-rules.ts';
import { kindOf, MIN_PAUSE_MS, pause, runTransaction, ShutdownDuringOutageError } from './run-transaction.ts';
import type { TransactionContext } from './run-transaction.ts';
import { copyBatch, storeDeliveries } from './store-deliveries.ts';
import type { Origin, SentType } from '../events/domain.ts';

export interface BatchStoreOptions {
  /** The lane that the batches come from; undefined: no webhook brought them. */
  readonly lane?: Lane | undefined;
  readonly observer?: DeliveryObserver;
  /** The file of the key that recognizes records of erased people. Without it, nothing is stored once somebody was erased. */
  readonly erasureKeyFile?: string | undefined;
  /** Transactions in progress at a time; 1 by default. */
  readonly atOnce?: number;
}

/**
 * Limits of one transaction: the batches of this many jobs, or this many characters of records. Larger transactions gain
 * nothing and delay answers: with 20 records per delivery, at 4 MiB the slowest percent waited for 220 ms.
 */
const TRANSACTION_BOUNDS = { maxItems: 16, maxBytes: 512 * 1024 };

/**
 * The least time between the starts of two transactions, unless the batches that wait fill one. Nobody needs the rows
 * sooner: senders have their answers, and the log holds each event back for 80 ms. With it, a delivery of one record takes a
 * tenth less of the processor time of program and servers.
 */
const SPACING_MS = 25;

/** A delivery is tried alone so often before it is quarantined as the one that cannot be stored. */
const ATTEMPTS_ALONE = 3;

/** The largest number of transactions between two attempts of COPY. */
const MAX_WITHOUT_COPY = 63;

/**
 * Tries COPY always while it works. While senders repeat deliveries it fails, and its work is lost: the number of
 * transactions until the next attempt doubles with each failure, and is halved by each success.
 */
class CopyPace {
  #pause = 0;
  #left = 0;

  /** Whether to try COPY for the next transaction. */
  isDue(): boolean {
    this.#left -= 1;
    return this.#left < 0;
  }

  /** Takes note of how an attempt ends. It has failed if it rejects, or resolves with undefined. */
  async follow<T>(attempt: Promise<T | undefined>): Promise<T | undefined> {
    let result: T | undefined;
    try {
      result = await attempt;
      return result;
    } finally {
      this.#pause = result === undefined ? Math.min(2 * this.#pause + 1, MAX_WITHOUT_COPY) : this.#pause >> 1;
      this.#left = this.#pause;
    }
  }
}

/**
 * Stores batches: those that arrive while transactions are in progress share the next one. Failures are handled by the
 * failure rules.
 */
export class BatchStore {
  readonly #context: TransactionContext & { readonly observer: DeliveryObserver };
  readonly #readRefusals: ReturnType<typeof createRefusalReader>;
  readonly #months = new MonthsOnDemand();
  readonly #pace = new CopyPace();
  readonly #transactions: GroupCommit<readonly ReadDelivery[], ReadonlyMap<string, NewDelivery>>;

  /** `giveUp` ends waits for a database that is away. */
  constructor(
    db: Db,
    logger: Logger,
    giveUp: AbortSignal,
    { lane, observer = UNOBSERVED, erasureKeyFile, atOnce = 1 }: BatchStoreOptions = {},
  ) {
    this.#context = { db, logger, giveUp, lane, observer };
    this.#readRefusals = createRefusalReader(erasureKeyFile);
    this.#transactions = new GroupCommit((batches) => this.#commit(batches), TRANSACTION_BOUNDS, {
      atOnce,
      spacingMs: SPACING_MS,
    });
  }

  /**
   * Resolves once all deliveries of the batch are committed or quarantined, with what was not stored before. It waits for the
   * end of an outage itself. Throws OutageError when `giveUp` fires during one, and an AggregateError when deliveries of the
   * same transaction cannot even be quarantined.
   */
  async add({ deliveries }: { readonly deliveries: readonly ReadDelivery[] }): Promise<StoredBatch> {
    const size = deliveries.reduce((sum, delivery) => sum + deliverySize(delivery), 0);
    const rows = await this.#transactions.add(deliveries, size);
    return summarize(deliveries.flatMap(({ deliveryId }) => rows.get(deliveryId) ?? []));
  }

  /**
   * Stores batches in one transaction. If a defect prevents that, each delivery gets its own transaction, and one that fails
   * even alone is quarantined whole. Resolves with the rows of the deliveries that were not stored before, by id.
   */
  async #commit(batches: readonly (readonly ReadDelivery[])[]): Promise<ReadonlyMap<string, NewDelivery>> {
    const deliveries = batches.flat();
    let rows: readonly NewDelivery[];
    try {
      rows = await this.#storeTogether(deliveries);
    } catch (error) {
      if (error instanceof ShutdownDuringOutageError) throw error;
      this.#context.logger.error(
        { err: error, deliveries: deliveries.length },
        'deliveries could not be stored together; storing them one by one',
      );
      rows = await this.#storeOneByOne(deliveries);
    }
    return new Map(rows.map((row) => [row.delivery_id, row]));
  }

  async #storeTogether(deliveries: readonly ReadDelivery[]): Promise<readonly NewDelivery[]> {
    const { db, logger, giveUp, lane, observer } = this.#context;
    const began = performance.now();
    const rows = await runTransaction(
      this.#context,
      async (trx, isolate) =>
        storeDeliveries(trx, deliveries, isolate, this.#months, await this.#readRefusals(trx), giveUp),
      async () =>
        this.#pace.isDue()
          ? this.#pace.follow(copyBatch(db, deliveries, this.#months, await this.#readRefusals(db)))
          : undefined,
    );
    activity.stir();
    const ms = performance.now() - began;
    observer.stored(lane, rows, ms / 1000);
    const refused = rows.reduce((sum, row) => sum + row.refused_count, 0);
    if (refused > 0) logger.info({ refused }, 'records of erased people were not stored again');
    logger.debug({ ...summarize(rows), ms: Math.round(ms) }, 'transaction committed');
    return rows;
  }

  async #storeOneByOne(deliveries: readonly ReadDelivery[]): Promise<readonly NewDelivery[]> {
    const failures: unknown[] = [];
    const rows: NewDelivery[] = [];
    for (const delivery of deliveries) {
      try {
        rows.push(...(await this.#storeAlone(delivery)));
      } catch (error) {
        if (error instanceof ShutdownDuringOutageError) throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0) {
      throw new AggregateError(
        failures,
        `deliveries that could neither be stored nor quarantined: ${failures.length}`,
      );
    }
    return rows;
  }

  async #storeAlone(delivery: ReadDelivery): Promise<readonly NewDelivery[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#storeTogether([delivery]);
      } catch (error) {
        if (error instanceof ShutdownDuringOutageError) throw error;
        const isFinal = STORING_RULES[kindOf(error)] === 'quarantine';
        if (isFinal || attempt === ATTEMPTS_ALONE) {
          const { deliveryId, source, messageType } = delivery;
          this.#context.logger.error(
            { err: error, deliveryId, source, messageType },
            'a delivery could not be stored and was quarantined as a whole',
          );
          return await this.#storeTogether([setAsideWhole(delivery, describeError(error))]);
        }
        await pause(this.#context, MIN_PAUSE_MS, error);
      }
    }
  }
}

export interface OwnRecords extends SentType {
  readonly source: string;
  readonly origin: Exclude<Origin, 'webhook'>;
  readonly records: readonly object[];
}

/** Creates the function that stores records as the worker stores deliveries: as one, committed when this resolves. */
export function createRecordStore(
  db: Db,
  logger: Logger,
  giveUp: AbortSignal,
  options: BatchStoreOptions,
): (given: OwnRecords) => Promise<void> {
  const store = new BatchStore(db, logger, giveUp, options);
  return async ({ records, ...given }) => {
    const receivedAt = Date.now();
    const text = JSON.stringify(records);
    const delivery = {
      ...given,
      deliveryId: newDeliveryId(receivedAt),
      receivedAt,
      secretForm: null,
      bodyBytes: Buffer.byteLength(text),
      recordCount: records.length,
      records: text,
      unreadable: [],
    };
    await store.add({ deliveries: [delivery] });
  };
}
