import { clearLine, cursorTo } from 'node:readline';

/** Tells what is going on: a line that changes on a terminal, plain lines elsewhere. */
export interface Progress extends Disposable {
  /** Begins a row. */
  row(title: string): void;
  /** Says what the row is at; `detail` is asked again and again on a terminal. */
  phase(name: string, detail?: () => string): void;
  /** A line that stays. */
  line(text: string): void;
}

const REFRESH_MS = 250;

export function createProgress(stream: NodeJS.WriteStream): Progress {
  const began = Date.now();
  let title = '';
  let name = '';
  let detail = () => '';
  const clear = () => {
    if (!stream.isTTY) return;
    cursorTo(stream, 0);
    clearLine(stream, 0);
  };
  const refresh = () => {
    clear();
    const text = `${elapsed(began)}  ${title}: ${name} ${detail()}`;
    stream.write(text.slice(0, stream.columns - 1));
  };
  const timer = stream.isTTY ? setInterval(refresh, REFRESH_MS) : undefined;
  return {
    row: (next) => (title = next),
    phase(next, nextDetail = () => '') {
      name = next;
      detail = nextDetail;
    },
    line(text) {
      clear();
      stream.write(`${elapsed(began)}  ${text}\n`);
    },
    [Symbol.dispose]() {
      clearInterval(timer);
      clear();
    },
  };
}

function elapsed(since: number): string {
  const seconds = Math.round((Date.now() - since) / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
