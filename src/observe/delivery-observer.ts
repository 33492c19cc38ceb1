import { activity } from '../lib/activity.ts';
import type { DeliveryObserver } from '../queue/delivery-observer.ts';
import type { Lane } from '../queue/lanes.ts';
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

/** Watches the deliveries of this process for these figures. */
export function createDeliveryObserver({
  traces,
  ingest,
  countStored,
  gauge,
  deferred,
  progress,
}: DeliveryFigures): DeliveryObserver {
  return {
    telemetry: traces?.telemetry,
    enqueue: (delivery, work) => (traces === undefined ? work() : traces.receive(delivery, work)),
    accepted(delivery, seconds) {
      activity.stir();
      ingest?.accepted(delivery, seconds);
      gauge.answered(seconds);
    },
    refused(status) {
      activity.stir();
      ingest?.refused(status);
      gauge.refused();
    },
    deferred: (source, messageType) => deferred.add(source, messageType),
    async commit(deliveries, work) {
      const result = await (traces === undefined ? work() : traces.commit(deliveries, work));
      ingest?.committed(deliveries.length);
      return result;
    },
    async store(lane, deliveries, work) {
      activity.stir();
      if (isFollowed(lane)) progress.began();
      try {
        return await (traces === undefined ? work() : traces.store(deliveries, work));
      } finally {
        if (isFollowed(lane)) progress.ended();
      }
    },
    stored(lane, rows, seconds) {
      if (isFollowed(lane)) progress.stored();
      const stored = sumStored(rows);
      countStored?.(stored, seconds);
      gauge.stored(
        stored.sums.reduce((sum, { events }) => sum + events, 0),
        seconds,
      );
    },
    waiting(lane, reason) {
      if (isFollowed(lane)) progress.waiting(reason);
    },
    tooNew: (version) => progress.tooNew(version),
  };
}

/** Readiness follows ordinary deliveries: a transaction of the bulk lane may take long without anything being wrong. */
const isFollowed = (lane: Lane | undefined) => lane === 'ordinary';
