import type { QueuedDelivery } from '../queue/delivery-batch.ts';

/** Is told what becomes of requests, to count them. It must not throw. */
export interface IngestObserver {
  /** A delivery is durable, so many seconds after its headers were there. */
  taken(delivery: QueuedDelivery, seconds: number): void;
  /** A request gets an error with this HTTP status. */
  refused(status: number): void;
}
