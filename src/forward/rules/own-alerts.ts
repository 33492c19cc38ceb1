import { z } from 'zod';
import type { StoredAlert } from '../../store/alerts.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { countOf } from '../../units.ts';
import { SEVERITIES } from './alert-rule.ts';

/** The record of an alert: what its event has as payload. */
const alertRecordSchema = z.object({
  rule: z.string(),
  title: z.string(),
  severity: z.enum(SEVERITIES),
  summary: z.string(),
  group: z.record(z.string(), z.string()),
  count: z.number(),
  first_at: z.string(),
  last_at: z.string(),
  causes: z.array(z.object({ event_id: z.string(), occurred_at: z.string() })),
  destinations: z.array(z.string()).nullable(),
});

export type AlertRecord = z.output<typeof alertRecordSchema>;

/** The record of an event that is an alert of a rule. */
export const readAlertRecord = ({ payload }: StoredEvent): AlertRecord => alertRecordSchema.parse(payload);

/** The record that stores an alert as an event. The same alert has the same record, and so the same event id. */
export function recordOf({ id, raisedAt, destinations, causes, ...alert }: StoredAlert): object {
  const { rule, title, severity, group, count, firstAt, lastAt } = alert;
  const record: AlertRecord = {
    rule,
    title,
    severity,
    summary: summarizeAlert(alert),
    group,
    count,
    first_at: firstAt,
    last_at: lastAt,
    causes: causes.map(({ eventId, occurredAt }) => ({ event_id: eventId, occurred_at: occurredAt })),
    destinations: destinations === undefined ? null : [...destinations],
  };
  return { timeStamp: Date.parse(raisedAt), alertId: id, ...record };
}

/** An alert in one sentence: what, about whom, how often and when. */
function summarizeAlert({
  title,
  group,
  count,
  firstAt,
  lastAt,
}: Pick<StoredAlert, 'title' | 'group' | 'count' | 'firstAt' | 'lastAt'>): string {
  const about = Object.entries(group).map(([column, value]) => `${column} ${value}`);
  const when = firstAt === lastAt ? `at ${firstAt}` : `from ${firstAt} to ${lastAt}`;
  return `${[title, ...about].join(', ')}: ${countOf(count, 'event')} ${when}`;
}

/** Whether a destination receives an alert: if its rule names it, or names none and the filter matches. */
export function isAlertFor(destination: string, event: StoredEvent, matchesFilter: boolean): boolean {
  const named = z.object({ destinations: z.array(z.string()).nullable() }).safeParse(event.payload)
    .data?.destinations;
  return named?.includes(destination) ?? matchesFilter;
}
