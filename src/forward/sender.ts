import { createHash } from 'node:crypto';
import type { StoredEvent } from '../events/stored-event.ts';
import type { ReportDocument } from './report-document.ts';

/** Writes an event in the format of a SIEM: one message, without the framing of the transport. */
export type Format = (event: StoredEvent) => string;

export interface Message {
  /** Its position in the log is undefined if it is sent by itself: a test, or one that was rejected before. */
  readonly event: StoredEvent & { readonly position?: number };
  readonly text: string;
}

export interface Sender {
  /**
   * Sends a batch, in order, and returns the messages that the destination rejected because of their content; it has
   * accepted all others. Throws OutageError if the destination can't accept the batch now, RetryLaterError if it says
   * how long to wait, BatchRefusedError if it refuses the batch as a whole because of its content or size, and
   * EndpointRefusedError if it refuses us.
   */
  send(batch: readonly Message[]): Promise<readonly Refusal[]>;
  /**
   * Sends a report; the same one again replaces it or can be recognized by its id. Throws as `send` does. Undefined if this
   * type of destination carries events alone.
   */
  readonly sendReport?: (report: ReportDocument) => Promise<void>;
  /** Closes the connections. Rejects with OutageError if messages that were sent may be lost with them. */
  close(): Promise<void>;
}

/** A message that the destination will never accept. */
export interface Refusal {
  readonly index: number;
  readonly reason: string;
}

export class RetryLaterError extends Error {
  override readonly name = 'RetryLaterError';
  /** Milliseconds from now. */
  readonly afterMs: number;

  constructor(message: string, afterMs: number, options?: ErrorOptions) {
    super(message, options);
    this.afterMs = afterMs;
  }
}

/** Part of the batch is not acceptable, or the batch is too large: parts of it may be accepted. */
export class BatchRefusedError extends Error {
  override readonly name = 'BatchRefusedError';
}

/** The destination refuses us: credentials, address or permissions are wrong, and the events are not the cause. */
export class EndpointRefusedError extends Error {
  override readonly name = 'EndpointRefusedError';
}

/**
 * The id of a batch: the same for the same events in the same order. It survives retries, even after a restart, so
 * the receiver can recognize a batch that it already has.
 */
export function batchId(batch: readonly Message[]): string {
  const hash = createHash('sha256');
  for (const { event } of batch) hash.update(`${event.eventId}\n`);
  return `msg_${hash.digest('base64url')}`;
}
