import { clearLine, cursorTo } from 'node:readline';

/** Tells what is going on: one line that changes on a terminal, plain lines elsewhere. */
export interface Progress extends Disposable {
  /** Begins a row; several may be under way. */
  row(title: string): RowProgress;
}

export interface RowProgress {
  /** Says what the row is at; `detail` is asked again and again on a terminal. */
  phase(name: string, detail?: () => string): void;
  /** A line that stays. */
  line(text: string): void;
  /** Ends the row with a line that stays. */
  end(text: string): void;
}

const REFRESH_MS = 250;

export function createProgress(stream: NodeJS.WriteStream): Progress {
  const began = Date.now();
  const underWay = new Map<string, () => string>();
  const clear = () => {
    if (!stream.isTTY) return;
    cursorTo(stream, 0);
    clearLine(stream, 0);
  };
  const refresh = () => {
    clear();
    const parts = [...underWay].map(([title, describe]) => `${title}: ${describe()}`);
    stream.write(`${elapsed(began)}  ${parts.join(' | ')}`.slice(0, stream.columns - 1));
  };
  const timer = stream.isTTY ? setInterval(refresh, REFRESH_MS) : undefined;
  return {
    row(title) {
      const line = (text: string) => {
        clear();
        stream.write(`${elapsed(began)}  ${title}: ${text}\n`);
      };
      return {
        phase: (name, detail = () => '') => void underWay.set(title, () => `${name} ${detail()}`),
        line,
        end(text) {
          underWay.delete(title);
          line(text);
        },
      };
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
