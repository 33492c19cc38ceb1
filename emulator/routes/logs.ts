import { z } from 'zod';
import { AUDIT_WINDOW_MS, LOG_KINDS, LOG_PAGE_LIMITS } from '../../src/cloud/contract/logs.ts';
import type { LogKind } from '../../src/cloud/contract/logs.ts';
import type { Clock } from '../../src/clock.ts';
import type { Journal } from '../events/journal.ts';
import { LOG_RECORD_SCHEMAS } from '../events/log-schemas.ts';
import { pageOf, pageQuery, queryInt } from '../http/query.ts';
import { page, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';

/** Epoch milliseconds. A negative start means the beginning, a negative end means now, as if they were absent. */
const time = queryInt(Number.MIN_SAFE_INTEGER);

/** A query of the audit log spans at most 30 days; other logs have no limit. */
function spanQuery(kind: LogKind) {
  const query = pageQuery(LOG_PAGE_LIMITS[kind]);
  if (kind !== 'audit') return query.extend({ startTime: time.optional(), endTime: time.optional() });
  return query
    .extend({ startTime: queryInt(0), endTime: queryInt(0) })
    .refine(({ startTime, endTime }) => endTime - startTime <= AUDIT_WINDOW_MS, {
      path: ['endTime'],
      message: 'must be at most 30 days after startTime',
    });
}

/** Logs, oldest first. The specification names the group only; these are the published calls. */
export function logRoutes({ journal, clock }: { journal: Journal; clock: Clock }): Route[] {
  return LOG_KINDS.map((kind) =>
    route('GET', `/logs/${kind}`, `List the ${kind} log, oldest first`, {
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
