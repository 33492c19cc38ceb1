import type { MessageType } from '../events/domain.ts';
import { activity } from '../lib/activity.ts';
import type { QueuedDelivery, ReadDelivery } from '../queue/delivery-batch.ts';
import type { DeliveryObserver } from '../queue/delivery-observer.ts';
import type { Lane } from '../queue/lanes.ts';
import type { NewDelivery } from '../store/deliveries/deliveries.ts';
import type { IngestMetrics } from './ingest-metrics.ts';
import type { ProcessGauge } from './process-figures.ts';
import type { RefusedCounter } from './refused-deliveries.ts';
import type { StoringProgress } from './storing-progress.ts';
import { sumStored, type Stored } from './worker-metrics.ts';
import type { Traces } from './traces.ts';

interface DeliveryFigures {
  /** Undefined unless traces are configured. */
  readonly traces: Traces | undefined;
  /** Undefined in a process that receives no deliveries. */
  readonly ingest: IngestMetrics | undefined;
  /** Undefined in a process that stores no deliveries. */
  readonly countStored: ((stored: Stored, seconds: number) => void) | undefined;
  readonly gauge: ProcessGauge;
  readonly deferred: RefusedCounter;
  readonly progress: StoringProgress;
}

export class ProcessDeliveryObserver implements DeliveryObserver {
  readonly #figures: DeliveryFigures;

  constructor(figures: DeliveryFigures) {
    this.#figures = figures;
  }

  get telemetry() {
    return this.#figures.traces?.telemetry;
  }

  enqueue<T>(delivery: QueuedDelivery, work: () => Promise<T>): Promise<T> {
    const { traces } = this.#figures;
    return traces === undefined ? work() : traces.receive(delivery, work);
  }

  accepted(delivery: QueuedDelivery, seconds: number): void {
    activity.stir();
    this.#figures.ingest?.accepted(delivery, seconds);
    this.#figures.gauge.answered(seconds);
  }

  refused(status: number): void {
    activity.stir();
    this.#figures.ingest?.refused(status);
    this.#figures.gauge.refused();
  }

  deferred(source: string, messageType: MessageType): void {
    this.#figures.deferred.add(source, messageType);
  }

  async commit<T>(deliveries: readonly QueuedDelivery[], work: () => Promise<T>): Promise<T> {
    const { traces, ingest } = this.#figures;
    const result = await (traces === undefined ? work() : traces.commit(deliveries, work));
    ingest?.committed(deliveries.length);
    return result;
  }

  async store<T>(lane: Lane, deliveries: readonly ReadDelivery[], work: () => Promise<T>): Promise<T> {
    const { traces, progress } = this.#figures;
    activity.stir();
    if (isFollowed(lane)) progress.began();
    try {
      return await (traces === undefined ? work() : traces.store(deliveries, work));
    } finally {
      if (isFollowed(lane)) progress.ended();
    }
  }

  stored(lane: Lane | undefined, rows: readonly NewDelivery[], seconds: number): void {
    if (isFollowed(lane)) this.#figures.progress.stored();
    const stored = sumStored(rows);
    this.#figures.countStored?.(stored, seconds);
    this.#figures.gauge.stored(
      stored.sums.reduce((sum, { events }) => sum + events, 0),
      seconds,
    );
  }

  waiting(lane: Lane | undefined, reason: string): void {
    if (isFollowed(lane)) this.#figures.progress.waiting(reason);
  }

  tooNew(version: number): void {
    this.#figures.progress.tooNew(version);
  }
}

/** Readiness follows ordinary deliveries: a transaction of the bulk lane may take long without anything being wrong. */
const isFollowed = (lane: Lane | undefined) => lane === 'ordinary';
