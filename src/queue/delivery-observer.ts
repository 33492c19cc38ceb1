import type { Telemetry } from 'bullmq';
import type { MessageType } from '../events/domain.ts';
import type { NewDelivery } from '../store/deliveries/deliveries.ts';
import type { QueuedDelivery, ReadDelivery } from './delivery-batch.ts';
import type { Lane } from './lanes.ts';

/**
 * Watches the deliveries of a process on their way from the request to the rows: for metrics, traces and readiness. Methods
 * with `work` run it and pass on its outcome. None throws its own errors.
 */
export interface DeliveryObserver {
  /** Connects BullMQ's own spans to the traces; undefined: nothing is traced. */
  readonly telemetry: Telemetry | undefined;
  enqueue<T>(delivery: QueuedDelivery, work: () => Promise<T>): Promise<T>;
  /** A delivery has become durable, this many seconds after its headers arrived. */
  accepted(delivery: QueuedDelivery, seconds: number): void;
  /** A request is answered with an error of this HTTP status. */
  refused(status: number): void;
  /** A delivery with a valid secret is refused for now: its sender should send it again. */
  deferred(source: string, messageType: MessageType): void;
  commit<T>(deliveries: readonly QueuedDelivery[], work: () => Promise<T>): Promise<T>;
  store<T>(lane: Lane, deliveries: readonly ReadDelivery[], work: () => Promise<T>): Promise<T>;
  /** A transaction has stored deliveries, from a lane or from no webhook, within this many seconds. */
  stored(lane: Lane | undefined, rows: readonly NewDelivery[], seconds: number): void;
  /** A transaction is repeated until the database accepts it. */
  waiting(lane: Lane | undefined, reason: string): void;
  /** A job of this version is left to a newer worker. */
  tooNew(version: number): void;
}

export const UNOBSERVED: DeliveryObserver = {
  telemetry: undefined,
  enqueue: (_delivery, work) => work(),
  accepted: () => undefined,
  refused: () => undefined,
  deferred: () => undefined,
  commit: (_deliveries, work) => work(),
  store: (_lane, _deliveries, work) => work(),
  stored: () => undefined,
  waiting: () => undefined,
  tooNew: () => undefined,
};
