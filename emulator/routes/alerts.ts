import { z } from 'zod';
import { visibleTo } from '../access/visibility.ts';
import type { Caller } from '../access/tokens.ts';
import type { Journal, ListedRecord } from '../events/journal.ts';
import { int64, int64Path } from '../http/int64.ts';
import { faultyPage } from '../http/faulty-page.ts';
import { inTimeOrder, pageQuery, queryBoolean, queryInt, queryRepeated } from '../http/query.ts';
import { array, page, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { FaultSwitch } from '../sending/faults.ts';
import { timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';

/** An alert as `GET /alerts` returns it. All its members are in the vendor's description. */
const alertSchema = z.looseObject({ id: z.string(), timestamp: z.string().nullable(), summary: z.string() });

const ids = queryRepeated(int64Path).optional();

/** Filters that both calls have. Times in epoch milliseconds. */
const filters = z.object({
  startTime: queryInt(0),
  endTime: queryInt(0),
  acknowledged: queryBoolean.optional(),
  siteId: int64Path.optional(),
});

const listQuery = pageQuery()
  .extend(filters.shape)
  .extend({
    categoryIds: ids,
    severityIds: ids,
    messageMetadataIds: ids,
    sortField: z.enum(['TIMESTAMP', 'SOURCE']).default('TIMESTAMP'),
    order: z.enum(['ASC', 'DESC']).default('ASC'),
    keyword: z.string().optional(),
  });

/** The member that identifies a group, and the member that names it. */
const GROUPS = {
  SEVERITY: ['severity_id', 'severity_name'],
  CATEGORY: ['category_id', 'category_name'],
  ALERT_TYPE: ['message_metadata_id', 'summary'],
} as const;

const groupCount = z.object({ group_id: int64, group_name: z.string(), count: z.int() });

interface Needs {
  world: World;
  journal: Journal;
  faults: FaultSwitch;
}

/** Alerts (vendor's description; the specification names the group only). */
export function alertRoutes({ world, journal, faults }: Needs): Route[] {
  const acknowledgedBy = new Map<string, string>();

  function present(alert: ListedRecord): ListedRecord {
    const acknowledged_username = acknowledgedBy.get(String(alert.id));
    return acknowledged_username === undefined
      ? alert
      : { ...alert, acknowledged: true, acknowledged_username };
  }

  function find({ startTime, endTime, acknowledged, siteId }: z.output<typeof filters>, caller: Caller) {
    const isVisible = visibleTo(world, caller);
    return journal
      .list('alert')
      .map(present)
      .filter(
        (alert) =>
          isVisible(alert['org_id']) &&
          alert.timestamp >= startTime &&
          alert.timestamp <= endTime &&
          (acknowledged === undefined || alert['acknowledged'] === acknowledged) &&
          (siteId === undefined || String(alert['site_id']) === siteId),
      );
  }

  return [
    route('GET', '/alerts', 'List alerts', {
      access: ['alert:r'],
      input: z.object({ query: listQuery }),
      success: page(alertSchema),
      handle({ query }, caller) {
        const { categoryIds, severityIds, messageMetadataIds, keyword = '' } = query;
        const matching = find(query, caller).filter(
          (alert) =>
            isAmong(alert['category_id'], categoryIds) &&
            isAmong(alert['severity_id'], severityIds) &&
            isAmong(alert['message_metadata_id'], messageMetadataIds) &&
            JSON.stringify(alert).toLowerCase().includes(keyword.toLowerCase()),
        );
        const sorted = query.sortField === 'SOURCE' ? matching.sort(bySource) : inTimeOrder(matching, 'ASC');
        const ordered = query.order === 'DESC' ? sorted.toReversed() : sorted;
        return faultyPage(faults.current(), ordered.map(asSent), query);
      },
    }),
    route('POST', '/alerts/:acknowledge', 'Acknowledge alerts', {
      access: ['alert'],
      input: z.object({ body: z.object({ alert_ids: z.array(z.string()) }) }),
      success: array(alertSchema),
      handle({ body: { alert_ids: wanted } }, { user }) {
        const alerts = journal.list('alert').filter(({ id }) => wanted.includes(String(id)));
        for (const { id } of alerts) acknowledgedBy.set(String(id), user.login_name);
        return alerts.map(present).map(asSent);
      },
    }),
    route('GET', '/alerts/count-by-{group}', 'Count alerts by severity, category or type', {
      access: ['alert:r'],
      input: z.object({ group: z.enum(['SEVERITY', 'CATEGORY', 'ALERT_TYPE']), query: filters }),
      success: array(groupCount),
      handle({ group, query }, caller) {
        const [id, name] = GROUPS[group];
        const groups = Map.groupBy(find(query, caller), (alert) => Number(alert[id]));
        return [...groups].map(([group_id, alerts]) => ({
          group_id,
          group_name: String(alerts[0]?.[name]).replace(/ at .*/, ''),
          count: alerts.length,
        }));
      },
    }),
  ];
}

function isAmong(id: unknown, wanted: readonly string[] | undefined): boolean {
  return wanted === undefined || wanted.includes(String(id));
}

const sourced = z.looseObject({ source: z.object({ source_name: z.string() }) });

function bySource(a: ListedRecord, b: ListedRecord): number {
  const [left, right] = [a, b].map((alert) => sourced.safeParse(alert).data?.source.source_name ?? '');
  return (left ?? '').localeCompare(right ?? '');
}

/** The time of an alert is a date-time, unlike that of log records. */
function asSent(alert: ListedRecord) {
  return { ...alert, timestamp: timestamp(alert.timestamp) };
}
