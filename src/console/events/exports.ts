/** How far an export is. */
export interface ExportProgress {
  state: 'running' | 'done' | 'failed';
  /** Written so far. */
  rows: number;
  bytes: number;
  /** Undefined while not counted, or when there are too many to count. */
  expectedRows: number | undefined;
}

/** The exports of this process that somebody wants to watch. */
export interface Exports {
  /** Makes an export known under an id of the one who asks for it; the signal fires when it is to be given up. */
  begin(id: string): { readonly progress: ExportProgress; readonly signal: AbortSignal };
  /** Undefined when it is not known, or was forgotten. */
  find(id: string): Readonly<ExportProgress> | undefined;
  /** False when no such export runs. */
  cancel(id: string): boolean;
}

/** How many are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 200;

/** Remembers exports in memory: a browser shows how far the file is that it writes to its disk by itself. */
export function createExports(): Exports {
  const known = new Map<string, { progress: ExportProgress; controller: AbortController }>();
  return {
    begin(id) {
      const progress: ExportProgress = { state: 'running', rows: 0, bytes: 0, expectedRows: undefined };
      const controller = new AbortController();
      known.delete(id);
      known.set(id, { progress, controller });
      const [oldest] = known.keys();
      if (known.size > MAX_REMEMBERED && oldest !== undefined) known.delete(oldest);
      return { progress, signal: controller.signal };
    },
    find: (id) => known.get(id)?.progress,
    cancel(id) {
      const found = known.get(id);
      if (found?.progress.state !== 'running') return false;
      found.controller.abort();
      return true;
    },
  };
}
