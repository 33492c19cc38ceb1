import { z } from 'zod';
import { visibleTo } from '../access/visibility.ts';
import { AUDIT_WINDOW_MS, LOG_KINDS } from '../../src/cloud/contract/logs.ts';
import type { LogKind } from '../../src/cloud/contract/logs.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Journal } from '../events/journal.ts';
import { LOG_RECORD_SCHEMAS } from '../events/log-schemas.ts';
import type { Dialect } from '../dialects.ts';
import { found } from '../http/errors.ts';
import { int64, int64Path } from '../http/int64.ts';
import { faultyPage } from '../http/faulty-page.ts';
import { inTimeOrder, pageQuery, queryInt, queryRepeated } from '../http/query.ts';
import type { FaultSwitch } from '../sending/faults.ts';
import { object, page, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { World } from '../world/world.ts';

interface Needs {
  world: World;
  journal: Journal;
  clock: Clock;
  dialect: Dialect;
  faults: FaultSwitch;
}

/** The categories of audit records (vendor's description). */
const CATEGORIES = ['ADMIN', 'SYSTEM', 'DEPLOYMENT', 'CONFIG', 'MONITOR', 'ALARM'] as const;

/** The largest page of each log: 100, but the Python SDK says 500 for the audit log. */
function pageLimit(kind: LogKind, dialect: Dialect): number {
  return kind === 'audit' && dialect !== 'vendor' ? 500 : 100;
}

/** The parameters of each log that select records by one of their members, and that member. */
const SELECTORS: Readonly<Record<LogKind, Readonly<Record<string, string>>>> = {
  audit: { username: 'username' },
  auth: { username: 'username', callingStationId: 'calling_station_id' },
  accounting: { username: 'username', callingStationId: 'calling_station_id' },
  credential: { username: 'username' },
  email: { username: 'username' },
  sms: { phoneNumber: 'tel' },
};

/** Epoch milliseconds. A negative start means the beginning, a negative end means now, as if they were absent. */
const time = queryInt(Number.MIN_SAFE_INTEGER).optional();

const order = z.enum(['ASC', 'DESC']).optional();

const fullDescriptionSchema = z.object({
  id: int64,
  timestamp: z.int(),
  device_id: int64,
  description: z.string(),
});

/** Logs, oldest first. The specification names the group only; these are the published calls. */
export function logRoutes(needs: Needs): Route[] {
  const others = LOG_KINDS.filter((kind) => kind !== 'audit');
  return [...auditRoutes(needs), ...others.map((kind) => logRoute(kind, needs))];
}

/** Whether a record has the members that the query names. A parameter that a log does not have is ignored. */
function isSelected(
  kind: LogKind,
  record: Readonly<Record<string, unknown>>,
  query: Readonly<Record<string, unknown>>,
): boolean {
  return Object.entries(SELECTORS[kind]).every(
    ([name, member]) => query[name] === undefined || record[member] === query[name],
  );
}

function logRoute(kind: LogKind, { world, journal, clock, dialect, faults }: Needs): Route {
  const query = pageQuery(pageLimit(kind, dialect)).extend({
    startTime: time,
    endTime: time,
    username: z.string().optional(),
    callingStationId: z.string().optional(),
    phoneNumber: z.string().optional(),
  });
  return route('GET', `/logs/${kind}`, `List the ${kind} log, oldest first`, {
    access: ['log:r'],
    input: z.object({ query }),
    success: page(LOG_RECORD_SCHEMAS[kind]),
    handle({ query }, caller) {
      const isVisible = visibleTo(world, caller);
      const { startTime = 0, endTime = -1 } = query;
      const until = endTime < 0 ? clock.now() : endTime;
      const records = journal
        .list(kind)
        .filter(
          (record) =>
            isVisible(record['org_id']) &&
            record.timestamp >= startTime &&
            record.timestamp <= until &&
            isSelected(kind, record, query),
        );
      return faultyPage(faults.current(), inTimeOrder(records, 'ASC'), query);
    },
  });
}

/** The audit log, whose queries span at most 30 days. The SDK calls the order `sortOrder`. */
function auditRoutes({ world, journal, dialect, faults }: Needs): Route[] {
  const query = pageQuery(pageLimit('audit', dialect))
    .extend({
      startTime: queryInt(0),
      endTime: queryInt(0),
      categories: queryRepeated(z.enum(CATEGORIES)).optional(),
      username: z.string().optional(),
      keyword: z.string().default(''),
      sortField: z.enum(['TIMESTAMP']).optional(),
      order,
      sortOrder: order,
    })
    .refine(({ startTime, endTime }) => endTime - startTime <= AUDIT_WINDOW_MS, {
      path: ['endTime'],
      message: 'must be at most 30 days after startTime',
    });
  return [
    route('GET', '/logs/audit', 'List the audit log, oldest first unless ordered otherwise', {
      access: ['log:r'],
      input: z.object({ query }),
      success: page(LOG_RECORD_SCHEMAS.audit),
      handle({ query }, caller) {
        const isVisible = visibleTo(world, caller);
        const { startTime, endTime, categories, keyword, sortOrder, order = sortOrder } = query;
        const wanted = categories === undefined ? undefined : new Set<unknown>(categories);
        const records = journal
          .list('audit')
          .filter(
            (record) =>
              isVisible(record['org_id']) &&
              record.timestamp >= startTime &&
              record.timestamp <= endTime &&
              (wanted?.has(record['category']) ?? true) &&
              isSelected('audit', record, query) &&
              String(record['description']).toLowerCase().includes(keyword.toLowerCase()),
          );
        return faultyPage(faults.current(), inTimeOrder(records, order ?? 'ASC'), query);
      },
    }),
    route('GET', '/logs/audit/full-descriptions/{id}', 'Get the whole description of an audit record', {
      access: ['log:r'],
      input: z.object({ id: int64Path }),
      success: object(fullDescriptionSchema),
      handle: ({ id }) => found(journal.fullDescription(id), 'full description', id),
    }),
  ];
}
