import type { StoredAlert } from '../store/alerts/alerts.ts';
import { countOf } from '../lib/text/units.ts';
import type { AlertRecord } from '../events/rule-alert.ts';

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
export function summarizeAlert({
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
