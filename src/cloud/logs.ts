import { AUDIT_WINDOW_MS, LOG_PAGE_LIMITS, logRecordSchema } from './contract/logs.ts';
import type { LogKind, LogRecord } from './contract/logs.ts';
import type { Call } from './exchange.ts';
import { listAll } from './paging.ts';
import type { Request } from './request.ts';

/** The log to read, and the time range in epoch milliseconds. */
interface LogQuery {
  kind: LogKind;
  from: number;
  to: number;
  signal?: AbortSignal | undefined;
}

/** The logs of the cloud. */
export interface Logs {
  /**
   * Returns the records of a time range as the cloud sends them, fetched page by page while they are consumed. A range of
   * the audit log that is too long for one query is read in several windows, oldest first. A record may come twice if
   * the log grows in the meantime or if it lies between two windows.
   */
  read(query: LogQuery): AsyncGenerator<LogRecord, void, undefined>;
}

export function createLogs(request: Request<Call>): Logs {
  return {
    async *read({ kind, from, to, signal }) {
      for (const window of windows(from, to, kind === 'audit' ? AUDIT_WINDOW_MS : Infinity)) {
        const limit = LOG_PAGE_LIMITS[kind];
        yield* listAll(request, {
          path: `/logs/${kind}`,
          query: window,
          limit,
          item: logRecordSchema,
          signal,
        });
      }
    },
  };
}

function* windows(
  from: number,
  to: number,
  longest: number,
): Generator<{ startTime: number; endTime: number }> {
  for (let startTime = from; startTime < to;) {
    const endTime = Math.min(startTime + longest, to);
    yield { startTime, endTime };
    startTime = endTime;
  }
}
