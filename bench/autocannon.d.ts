/** The part of autocannon 9 that the load uses; the package has no types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  /** One connection. */
  export interface Client {
    /**
     * After this many requests the connection ends, once its last answer has arrived. The field of autocannon's
     * option `maxConnectionRequests`.
     */
    responseMax: number | undefined;
  }

  export interface Options {
    readonly url: string;
    readonly method: 'POST';
    readonly headers: Readonly<Record<string, string>>;
    readonly connections: number;
    /** Requests a second of all connections together. */
    readonly overallRate?: number;
    readonly pipelining: number;
    /** Seconds. */
    readonly duration: number;
    /** Milliseconds; the run also ends at such a tick only. */
    readonly sampleInt: number;
    readonly setupClient: (client: Client) => void;
    readonly requests: readonly { readonly setupRequest: (request: Request) => Request }[];
  }

  export interface Request {
    body?: string;
  }

  export interface Result {
    readonly errors: number;
    readonly non2xx: number;
  }

  export interface Run extends PromiseLike<Result> {
    on(
      event: 'response',
      listener: (client: Client, status: number, bytes: number, milliseconds: number) => void,
    ): EventEmitter;
  }

  export default function autocannon(options: Options): Run;
}
