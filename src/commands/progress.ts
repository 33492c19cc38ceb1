import { styleText } from 'node:util';

/** Times between two signs of progress: a terminal's line is written over, a log should stay short. */
const TERMINAL_INTERVAL_MS = 100;
const PLAIN_INTERVAL_MS = 5_000;

/** Cells of the bar. */
const BAR_WIDTH = 24;

/** Tells on standard error how far long work has come. */
export interface Progress {
  show(done: number): void;
  /** Makes room for other lines: takes away what stands on the terminal. */
  clear(): void;
}

/**
 * On a terminal progress is a bar that is written over, with rate and time left; elsewhere a line of its own every few
 * seconds. Without a total (nobody has counted) it tells how much is done, and how fast.
 */
export function createProgress(what: string, total: number | undefined): Progress {
  const { stderr } = process;
  const interval = stderr.isTTY ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS;
  const began = performance.now();
  let shown = began;
  return {
    show(done) {
      const now = performance.now();
      if (now - shown < interval) return;
      shown = now;
      const state = { what, done, total, seconds: (now - began) / 1_000 };
      stderr.write(stderr.isTTY ? `\r\u001b[K${barLine(state, stderr.columns)}` : `${plainLine(state)}\n`);
    },
    clear() {
      if (!stderr.isTTY) return;
      stderr.write('\r\u001b[K');
      // What was taken away is to be seen again at once.
      shown = Number.NEGATIVE_INFINITY;
    },
  };
}

/** How far work has come after so many seconds. */
export interface ProgressState {
  readonly what: string;
  readonly done: number;
  readonly total: number | undefined;
  readonly seconds: number;
}

/** The line of a log: `replayed 500 of 2000`. */
export function plainLine({ what, done, total }: ProgressState): string {
  return total === undefined ? `${what} ${done}` : `${what} ${done} of ${total}`;
}

/** The line of a terminal, without its bar where that would not fit into so many columns, and cut where need be. */
export function barLine(state: ProgressState, columns: number): string {
  const { what, done, total, seconds } = state;
  const rate = seconds > 0 ? done / seconds : 0;
  const speed = `${amount(rate)}/s`;
  if (total === undefined) return `${what} ${amount(done)}  ${speed}`.slice(0, columns - 1);
  // What is added while it runs was not counted.
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const left = rate > 0 ? [`${duration(Math.max(0, total - done) / rate)} left`] : [];
  const percent = `${Math.floor(share * 100)}%`.padStart(4);
  const text = [`${amount(done)} of ${amount(total)}`, speed, ...left].join('  ');
  const line = `${what} ${percent}  ${text}`;
  if (line.length + BAR_WIDTH + 1 >= columns) return line.slice(0, columns - 1);
  return `${what} ${bar(share)}${percent}  ${text}`;
}

function bar(share: number): string {
  const full = Math.round(share * BAR_WIDTH);
  const [done, rest] = ['█'.repeat(full), '░'.repeat(BAR_WIDTH - full)];
  return `${styleText('green', done, { stream: process.stderr })}${styleText('dim', rest, { stream: process.stderr })}`;
}

const amount = (number: number) =>
  number.toLocaleString('en', { maximumFractionDigits: number < 10 && number % 1 !== 0 ? 1 : 0 });

/** Seconds in the two largest units that tell: `1 h 5 min`, `2 min 10 s`, `8 s`. */
export function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  const [hours, minutes] = [Math.floor(whole / 3_600), Math.floor((whole % 3_600) / 60)];
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`;
}
