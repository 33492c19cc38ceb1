import { z } from 'zod';
import {
  AUDIT_WINDOW_MS,
  LOG_KINDS,
  LOG_PAGE_LIMITS,
  LOG_RECORD_SCHEMAS,
} from '../src/cloud/contract/logs.ts';
import type { LogKind } from '../src/cloud/contract/logs.ts';
import type { Clock } from './clock.ts';
import type { Journal } from './journal.ts';
import { pageOf, pageQuery } from './paging.ts';
import { queryInt } from './query.ts';
import { page, route } from './route.ts';
import type { Route } from './route.ts';

/** Epoch milliseconds. A negative start counts as the beginning, a negative end as now, as absent ones do. */
const time = queryInt(Number.MIN_SAFE_INTEGER);

/** The audit log is asked for a span of at most 30 days, the others for any. */
function spanQuery(kind: LogKind) {
  const query = pageQuery(LOG_PAGE_LIMITS[kind]);
  if (kind !== 'audit') return query.extend({ startTime: time.optional(), endTime: time.optional() });
  return query
    .extend({ startTime: queryInt(0), endTime: queryInt(0) })
    .refine(({ startTime, endTime }) => endTime - startTime <= AUDIT_WINDOW_MS, {
      path: ['endTime'],
      message: 'expected at most 30 days after startTime',
    });
}

/** Logs read back, oldest first; the specification names the group only, these are the published calls. */
export function logRoutes({ journal, clock }: { journal: Journal; clock: Clock }): Route[] {
  return LOG_KINDS.map((kind) =>
    route({
      method: 'GET',
      path: `/logs/${kind}`,
      tag: 'Logs',
      summary: `The ${kind} log, oldest first`,
      access: ['log:r'],
      input: z.object({ query: spanQuery(kind) }),
      success: page(LOG_RECORD_SCHEMAS[kind]),
      handle({ query }) {
        const { startTime = 0, endTime = -1 } = query;
        const until = endTime < 0 ? clock.now() : endTime;
        const records = journal.list(kind);
        return pageOf(
          records.filter(({ timestamp }) => timestamp >= startTime && timestamp <= until),
          query,
        );
      },
    }),
  );
}
