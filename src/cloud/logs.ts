import { path } from './addresses.ts';
import { CloudApiError } from './cloud-api-error.ts';
import {
  alertSchema,
  AUDIT_WINDOW_MS,
  fullDescriptionSchema,
  LOG_PAGE_LIMIT,
  logRecordSchema,
} from './contract/logs.ts';
import type { HistoryKind, LogRecord } from './contract/logs.ts';
import type { Call } from './exchange.ts';
import { readJson } from './json.ts';
import { listWhole } from './paging.ts';
import type { Request } from './request.ts';

interface LogQuery {
  kind: HistoryKind;
  from: number;
  to: number;
  signal?: AbortSignal | undefined;
}

export type Logs = ReturnType<typeof createLogs>;

export function createLogs(request: Request<Call>) {
  return {
    /**
     * Returns the records of a time range as the cloud sends them, fetched page by page while they are consumed. A range of
     * the audit log that is too long for one query is read in several windows, oldest first. A record may come twice if
     * it lies between two windows. Ends with a `CloudApiError` that `isIncomplete` if a record may be missing.
     */
    async *read({ kind, from, to, signal }: LogQuery): AsyncGenerator<LogRecord, void, undefined> {
      for (const window of windows(from, to, kind === 'audit' ? AUDIT_WINDOW_MS : Infinity)) {
        const limit = LOG_PAGE_LIMIT;
        if (kind === 'alerts') {
          const query = { ...window, sortField: 'TIMESTAMP', order: 'ASC' };
          yield* listWhole(request, { path: '/alerts', query, limit, item: alertSchema, signal });
        } else {
          const at = `/logs/${kind}`;
          yield* listWhole(request, { path: at, query: window, limit, item: logRecordSchema, signal });
        }
      }
    },
    /** The whole description of an audit record, by its `full_description_id`. Undefined if the cloud does not have it. */
    async fullDescription(id: string, signal?: AbortSignal): Promise<string | undefined> {
      try {
        const at = path`/logs/audit/full-descriptions/${id}`;
        const answer = await request({ method: 'GET', path: at, signal });
        return readJson(fullDescriptionSchema, answer).description;
      } catch (error) {
        if (!isAboutOne(error)) throw error;
        return undefined;
      }
    },
  };
}

/** Whether another description might be read: the credentials are accepted, and the cloud is neither down nor busy. */
function isAboutOne(error: unknown): boolean {
  const status = error instanceof CloudApiError ? error.status : undefined;
  return status !== undefined && status < 500 && status !== 401 && status !== 429;
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
