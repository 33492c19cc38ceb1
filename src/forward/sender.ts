import type { StoredEvent } from './stored-event.ts';

/** An event in the destination's format. */
export interface Message {
  readonly event: StoredEvent;
  readonly text: string;
}

/** Takes messages to one destination. */
export interface Sender {
  /**
   * Sends a batch, in order, and gives the messages that the destination has refused for what they say; it has taken
   * all others. Throws OutageError when it cannot take them now, RetryLaterError when it says until when,
   * BatchRefusedError when it refuses the batch as a whole for something in it, EndpointRefusedError when it
   * refuses us.
   */
  send(batch: readonly Message[]): Promise<readonly Refusal[]>;
  /** Ends its connections. Rejects with OutageError when something that was sent may be lost with them. */
  close(): Promise<void>;
}

/** A message that the destination will never take. */
export interface Refusal {
  /** Its place in the batch. */
  readonly index: number;
  readonly reason: string;
}

/** The destination asks to be left alone for a while. */
export class RetryLaterError extends Error {
  override readonly name = 'RetryLaterError';
  /** Milliseconds from now. */
  readonly afterMs: number;

  constructor(message: string, afterMs: number, options?: ErrorOptions) {
    super(message, options);
    this.afterMs = afterMs;
  }
}

/** Something in the batch is not acceptable, or all of it is too large: a part of it may be. */
export class BatchRefusedError extends Error {
  override readonly name = 'BatchRefusedError';
}

/** The destination does not want us: credentials, address or permission are wrong, and no event is to blame. */
export class EndpointRefusedError extends Error {
  override readonly name = 'EndpointRefusedError';
}
