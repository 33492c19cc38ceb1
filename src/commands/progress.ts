/** Times between two signs of progress: a terminal's line is written over, a log should stay short. */
const TERMINAL_INTERVAL_MS = 100;
const PLAIN_INTERVAL_MS = 5_000;

/** Tells on standard error how far long work has come. */
export interface Progress {
  show(done: number): void;
  /** Makes room for other lines: takes away what stands on the terminal. */
  clear(): void;
}

/**
 * On a terminal progress is one line that is written over; elsewhere a line of its own every few
 * seconds. The total may be unknown.
 */
export function createProgress(what: string, total: number | undefined): Progress {
  const { isTTY } = process.stderr;
  const interval = isTTY ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
  let shown = performance.now();
  return {
    show(done) {
      if (performance.now() - shown < interval) return;
      shown = performance.now();
      process.stderr.write(`${what} ${done}${total === undefined ? '' : ` of ${total}`}${isTTY ? '' : '\n'}`);
    },
    clear() {
      if (isTTY) process.stderr.write('\r\u001b[K');
    },
  };
}
