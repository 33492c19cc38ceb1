import { hash } from 'node:crypto';
import type { Db } from '../../store/database.ts';
import { listRaisingSearches, type RaisingSearch } from '../../store/saved-searches.ts';
import { alertRuleSchema } from './alert-rule.ts';
import type { ConfiguredRule } from './parse-rules.ts';

/** Whatever a search finds without a pause of so long is one alert, so that a wide search raises few. */
const WITHIN = '10m';

/**
 * The rules of the settings and those of saved searches. A search that the grammar no longer accepts, or whose name is that of
 * another rule, has none.
 */
export async function withSearchRules(
  db: Db,
  configured: readonly ConfiguredRule[],
): Promise<readonly ConfiguredRule[]> {
  const searches = await listRaisingSearches(db);
  const own = searches.flatMap((search) => ruleOf(search) ?? []);
  return [...configured, ...own.filter(({ name }) => !configured.some((rule) => rule.name === name))];
}

function ruleOf({ id, name, line, sources }: RaisingSearch): ConfiguredRule | undefined {
  const { data: rule } = alertRuleSchema.safeParse({
    name: `search-${id}`,
    title: name,
    filter: { search: line, ...(sources !== null && { sources }) },
    within: WITHIN,
  });
  return rule && { ...rule, fingerprint: hash('sha256', JSON.stringify(rule), 'hex') };
}
