import { AUDIT_WINDOW_MS, LOG_PAGE_LIMITS, logRecordSchema } from './contract/logs.ts';
import type { LogKind, LogRecord } from './contract/logs.ts';
import type { Call } from './exchange.ts';
import { listAll } from './paging.ts';
import type { Request } from './request.ts';

/** Which log to read, and the time span in epoch milliseconds. */
interface LogQuery {
  kind: LogKind;
  from: number;
  to: number;
  signal?: AbortSignal | undefined;
}

/** Reads back what the cloud logged. */
export interface Logs {
  /**
   * The records of a span as the cloud sends them, fetched page by page while they are consumed; a span of the audit
   * log longer than the cloud answers at once goes in several windows, oldest first. A record may come twice where
   * the log grows meanwhile or where two windows meet.
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
