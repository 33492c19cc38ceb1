import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { numberOf, type SentBody } from './deliveries.ts';

/** What was sent, what an ingest process made of it, and what was promised to its sender. */
export class Ledger {
  readonly bodies = new Map<number, SentBody>();
  /** The body of each delivery that was about to be made durable, by delivery id. */
  readonly begun = new Map<string, number>();
  /** The body of each delivery that was acknowledged, by delivery id. */
  readonly acknowledged = new Map<string, number>();
  /** Lost with a failover before which, or before it was noticed, a spool had no room to keep them. */
  readonly excused = new Set<string>();
  readonly answers = { accepted: 0, kept: 0, refused: 0, unanswered: 0 };

  noteBegun({ deliveryId, records, unreadable }: QueuedDelivery): void {
    const [part] = unreadable;
    const whole = part === undefined ? '' : Buffer.from(part.content, 'base64').toString();
    const fromWhole = Number(/^\{"body":(\d+)/.exec(whole)?.[1] ?? -1);
    this.begun.set(deliveryId, fromWhole === -1 ? numberOf(records) : fromWhole);
  }
}
