import { commandName } from '../../command-name.ts';
import type { ConfiguredRule } from '../../forward/rules/parse-rules.ts';
import { withSearchRules } from '../../forward/rules/search-rules.ts';
import { ruleBacklog } from '../../store/alerts.ts';
import { countOf, formatDuration } from '../../units.ts';
import { ok, warn, type Check, type Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

/** Rules that are farther behind do not keep up, or nothing evaluates them. */
const FAR_BEHIND_S = 10 * 60;

/** The check of the alert rules that are on: those of the settings and of saved searches. */
export const alertRulesCheck = (rules: readonly ConfiguredRule[], access: DatabaseAccess): Check => ({
  name: 'alert rules',
  needs: ['migrations'],
  run: () => checkAlertRules(rules, access),
});

async function checkAlertRules(
  configured: readonly ConfiguredRule[],
  access: DatabaseAccess,
): Promise<Finding> {
  const { db } = access.opened();
  const rules = await withSearchRules(db, configured);
  if (rules.length === 0) return ok('none are on: no event raises an alert');
  const { events, since } = await ruleBacklog(db);
  const behindS = since === null ? 0 : (Date.now() - since.getTime()) / 1_000;
  if (behindS <= FAR_BEHIND_S)
    return ok(`${countOf(rules.length, 'rule')} on: ${rules.map(({ name }) => name).join(', ')}`);
  return warn(
    `${countOf(events, 'event')} wait to be evaluated; the last one was ${formatDuration(behindS)} ago`,
    `check that ${commandName()} serve is running with the role all or forward`,
  );
}
