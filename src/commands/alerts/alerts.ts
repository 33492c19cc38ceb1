import { findRule, withStoredRules, type ConfiguredRule } from '../../alerts/parse-rules.ts';
import { listAlerts, type AlertFilter, type StoredAlert } from '../../store/alerts/alerts.ts';
import type { Db } from '../../store/server/database.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { note, printRows, type Columns } from '../shared/output.ts';
import { backtestRule, type BacktestRange } from '../../alerts/backtest-rule.ts';
import type { Alert } from '../../alerts/rule-state.ts';
import { countOf } from '../../lib/text/units.ts';
import { createProgress } from '../shared/progress.ts';

const ALERT_COLUMNS: Columns<StoredAlert> = {
  raised: ({ raisedAt }) => raisedAt,
  severity: ({ severity }) => severity,
  rule: ({ rule }) => rule,
  source: ({ source }) => source,
  about: ({ group }) => aboutGroup(group),
  count: ({ count }) => String(count),
  first: ({ firstAt }) => firstAt,
  last: ({ lastAt }) => lastAt,
};

const aboutGroup = (group: Readonly<Record<string, string>>): string =>
  Object.entries(group)
    .map(([column, value]) => `${column} ${value}`)
    .join(', ');

/** `alerts list`: prints raised alerts, newest first, as a table or as JSON lines. */
export async function printAlerts(db: Db, filter: AlertFilter, asJson: boolean): Promise<void> {
  const alerts = await listAlerts(db, ALL_SOURCES, filter);
  await printRows(alerts, ALERT_COLUMNS, asJson);
  if (alerts.length === 0) note('no alerts were raised in this range');
}

const TEST_COLUMNS: Columns<Alert> = {
  at: ({ lastAt }) => lastAt,
  source: ({ source }) => source,
  about: ({ group }) => aboutGroup(group),
  count: ({ count }) => String(count),
  first: ({ firstAt }) => firstAt,
  'last event': ({ causes }) => causes.at(-1)?.eventId ?? null,
};

const MOST_SHOWN = 100;

/** `alerts test`: prints the alerts that a rule would have raised, as a table or as JSON lines. */
export async function testRule(
  events: Db,
  configured: readonly ConfiguredRule[],
  name: string,
  range: BacktestRange,
  asJson: boolean,
  signal: AbortSignal,
): Promise<void> {
  const rule = findRule(await withStoredRules(events, configured), name);
  const progress = createProgress('evaluated', undefined);
  let count = 0;
  const evaluated = () => progress.show((count += 1));
  const shown: Alert[] = [];
  let raised = 0;
  try {
    for await (const alert of backtestRule(events, ALL_SOURCES, rule, range, signal, evaluated)) {
      raised += 1;
      if (asJson) {
        progress.clear();
        await printRows([alert], TEST_COLUMNS, true);
      } else if (shown.length < MOST_SHOWN) shown.push(alert);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    note('stopped: later events were not evaluated');
  } finally {
    progress.clear();
  }
  await printRows(shown, TEST_COLUMNS);
  if (raised > shown.length && !asJson) note(`showing the first ${MOST_SHOWN}; --json prints all of them`);
  const span = `from ${range.since.toISOString()} to ${range.until.toISOString()}`;
  note(
    raised === 0
      ? `rule ${rule.name} would have raised no alert ${span}`
      : `rule ${rule.name} would have raised ${countOf(raised, 'alert')} ${span}`,
  );
}
