/** How long what lasts, in milliseconds, and how much is sent. */
export interface Pauses {
  /** The load runs so long before a fault and after it. */
  readonly before: number;
  readonly after: number;
  /** From `kill -9` to the next start. */
  readonly killed: number;
  /** From SIGSTOP to SIGCONT, and as long as a network is cut. */
  readonly frozen: number;
  /** What a server refuses for a time: memory, connections, a full disk; and how long a clock is wrong. */
  readonly refusing: number;
  readonly bothDown: number;
  /** The faults of one draw begin within this time of each other. */
  readonly spread: number;
  /** Obligations are waited for so long after the last that was met, and so long in all. */
  readonly idle: number;
  readonly settle: number;
  /** Deliveries a second. */
  readonly rate: number;
  /** Each on a set-up of its own. */
  readonly rowsAtATime: number;
}

/** What the figures of a release are measured with: each row sends for 20 s to 75 s. */
export const FULL: Pauses = {
  before: 5_000,
  after: 8_000,
  killed: 5_000,
  frozen: 30_000,
  refusing: 15_000,
  bothDown: 60_000,
  spread: 10_000,
  idle: 60_000,
  settle: 300_000,
  rate: 1_000,
  rowsAtATime: 1,
};

/** What each change has to pass, all rows within 6 minutes. Longer than the 5 s that an answer waits for the queue. */
export const SHORT: Pauses = {
  before: 1_000,
  after: 1_500,
  killed: 2_000,
  frozen: 6_000,
  refusing: 4_000,
  bothDown: 10_000,
  spread: 2_000,
  idle: 30_000,
  settle: 60_000,
  rate: 500,
  rowsAtATime: 2,
};
