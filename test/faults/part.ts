/** One process of a set-up (Postgres: all of its processes) that a fault can hit. */
export interface Part {
  /** Starts it, again on its old address and its old files. Resolves once it works. */
  start(): Promise<void>;
  /** `kill -9`. Resolves once it is gone. */
  kill(): Promise<void>;
  /** SIGSTOP: it holds its connections and answers nothing. */
  freeze(): Promise<void>;
  /** SIGCONT. */
  thaw(): Promise<void>;
  /** Ends it for good, whatever state a fault has left it in. */
  stop(): Promise<void>;
}
