import { styleText } from 'node:util';
import { formatCount, formatDuration, formatElapsed } from '../../lib/text/units.ts';
import type { Logger } from 'pino';
import type { RunStep } from '../../serve/open-server.ts';

/** Time between two reports: a line on a terminal is overwritten, a log should stay short. */
const TERMINAL_INTERVAL_MS = 100;
const PLAIN_INTERVAL_MS = 5_000;

const BAR_WIDTH = 24;

export type Progress = ReturnType<typeof createProgress>;

/**
 * Starts to report progress. On a terminal it is a bar with rate and remaining time; elsewhere a line every few seconds.
 * Without a total, it shows the number done and the rate. Disposing of it clears the bar.
 */
export function createProgress(verb: string, total: number | undefined) {
  const { stderr } = process;
  const interval = stderr.isTTY ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
  const began = performance.now();
  let shown = began;
  const clear = () => {
    if (!stderr.isTTY) return;
    stderr.write('\r\u001b[K');
    // The next call of `show` draws the line again at once.
    shown = Number.NEGATIVE_INFINITY;
  };
  return {
    clear,
    [Symbol.dispose]: clear,
    show(done: number): void {
      const now = performance.now();
      if (now - shown < interval) return;
      shown = now;
      const state = { verb, done, total, seconds: (now - began) / 1_000 };
      stderr.write(stderr.isTTY ? `\r\u001b[K${barLine(state, stderr.columns)}` : `${plainLine(state)}\n`);
    },
  };
}

export interface ProgressState {
  readonly verb: string;
  readonly done: number;
  readonly total: number | undefined;
  readonly seconds: number;
}

export function plainLine({ verb, done, total }: ProgressState): string {
  return `${verb} ${formatCount(done)}${total === undefined ? '' : ` of ${formatCount(total)}`}`;
}

/** A line for a terminal of so many columns. The bar is left out if it does not fit, then the line is cut. */
export function barLine(state: ProgressState, columns: number): string {
  const { verb, done, total, seconds } = state;
  const rate = seconds > 0 ? done / seconds : 0;
  const speed = `${formatCount(rate < 10 ? Math.round(rate * 10) / 10 : Math.round(rate))}/s`;
  if (total === undefined) return `${verb} ${formatCount(done)}  ${speed}`.slice(0, columns - 1);
  // Items that were added after the count can make more than 100%.
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const left = rate > 0 ? [`${formatDuration((total - done) / rate)} left`] : [];
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const text = [`${formatCount(done)} of ${formatCount(total)}`, speed, ...left].join('  ');
  const line = `${verb} ${percent}  ${text}`;
  if (line.length + BAR_WIDTH + 1 >= columns) return line.slice(0, columns - 1);
  return `${verb} ${bar(share)}${percent}  ${text}`;
}

function bar(share: number): string {
  const full = Math.round(share * BAR_WIDTH);
  const [done, rest] = ['█'.repeat(full), '░'.repeat(BAR_WIDTH - full)];
  return `${styleText('green', done, { stream: process.stderr })}${styleText('dim', rest, { stream: process.stderr })}`;
}

/** Shows the steps of a start: each as one line on a terminal, `Creating the database (2 s)`, else in the log. */
export function showSteps(logger: Logger): RunStep {
  const { isTTY } = process.stdout;
  return async (title, work) => {
    const began = performance.now();
    if (isTTY) process.stdout.write(title);
    try {
      return await work();
    } finally {
      const ms = Math.round(performance.now() - began);
      if (isTTY) process.stdout.write(` (${formatElapsed(ms / 1_000)})\n`);
      else logger.info({ ms }, title);
    }
  };
}
