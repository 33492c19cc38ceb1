import type { AlertRule } from '../../forward/rules/alert-rule.ts';
import { backtestRule, type BacktestRange } from '../../forward/rules/backtest-rule.ts';
import type { Alert } from '../../forward/rules/evaluate-rule.ts';
import { findRule } from '../../forward/rules/parse-rules.ts';
import type { Db } from '../../store/database.ts';
import { ALL_SOURCES } from '../../store/scope.ts';
import { countOf } from '../../units.ts';
import { note, printRows, type Columns } from '../shared/output.ts';
import { createProgress } from '../shared/progress.ts';
import { aboutGroup } from './list.ts';

const COLUMNS: Columns<Alert> = {
  at: ({ lastAt }) => lastAt,
  source: ({ source }) => source,
  about: ({ group }) => aboutGroup(group),
  count: ({ count }) => String(count),
  first: ({ firstAt }) => firstAt,
  'last event': ({ causes }) => causes.at(-1)?.eventId ?? null,
};

/** Alerts that a table shows. */
const MOST_SHOWN = 100;

/** `alerts test`: prints the alerts that a rule would have raised, as a table or as JSON lines. */
export async function testRule(
  db: Db,
  configured: readonly AlertRule[],
  name: string,
  range: BacktestRange,
  asJson: boolean,
  signal: AbortSignal,
): Promise<void> {
  const rule = findRule(configured, name);
  const progress = createProgress('evaluated', undefined);
  let events = 0;
  const evaluated = () => progress.show((events += 1));
  const shown: Alert[] = [];
  let raised = 0;
  try {
    for await (const alert of backtestRule(db, ALL_SOURCES, rule, range, signal, evaluated)) {
      raised += 1;
      if (asJson) {
        progress.clear();
        await printRows([alert], COLUMNS, true);
      } else if (shown.length < MOST_SHOWN) shown.push(alert);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    note('stopped: later events were not evaluated');
  } finally {
    progress.clear();
  }
  await printRows(shown, COLUMNS);
  if (raised > shown.length && !asJson) note(`the first ${MOST_SHOWN} are shown; --json prints all of them`);
  const span = `from ${range.since.toISOString()} to ${range.until.toISOString()}`;
  note(
    raised === 0
      ? `rule ${rule.name} would have raised no alert ${span}`
      : `rule ${rule.name} would have raised ${countOf(raised, 'alert')} ${span}`,
  );
}
