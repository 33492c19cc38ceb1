import { hash } from 'node:crypto';
import { z } from 'zod';
import { destinationNames, type ForwardingSettings } from '../config/destinations.ts';
import { plainProblems } from '../config/setting-types.ts';
import { closestName } from '../lib/text/closest-name.ts';
import { SettingsError, UsageError } from '../lib/errors.ts';
import { alertRuleSchema, contradictionsOf, type AlertRule } from './alert-rule.ts';
import { BUILT_IN_RULES } from './built-in-rules.ts';
import type { Db } from '../store/server/database.ts';
import { listAddedOutputs, type AddedOutput } from '../store/destinations/added-outputs.ts';
import { listRaisingSearches, type RaisingSearch } from '../store/alerts/saved-searches.ts';

/** A rule that is switched on. */
export interface ConfiguredRule extends AlertRule {
  /** The same for equal settings: with other settings, a rule's state is meaningless. */
  readonly fingerprint: string;
}

const NAMES = BUILT_IN_RULES.map(({ name }) => name);

/** An entry of the settings: a built-in rule by name, with other values for some of its settings, or a rule. */
const entrySchema = z.looseObject({ use: z.enum(NAMES, `must be one of ${NAMES.join(', ')}`).optional() });

/** The rules of the settings. Throws a SettingsError that lists everything wrong with any of them. */
export function parseRules(settings: ForwardingSettings): readonly ConfiguredRule[] {
  const problems: string[] = [];
  const entries = z.array(entrySchema).safeParse(settings.alerts ?? [], plainProblems);
  for (const { path, message } of entries.error?.issues ?? []) {
    problems.push(`XIQ_SINK_CONFIG: alerts${pathOf(path)}: ${message}`);
  }
  const destinations = destinationNames(settings);
  const own: string[] = [];
  const rules = (entries.data ?? []).flatMap((entry, index) => parseRule(entry, index, destinations, own));
  problems.push(...own.map((problem) => `XIQ_SINK_CONFIG: alerts: ${problem}`));
  const names = rules.map(({ name }) => name);
  for (const name of new Set(names.filter((one, index) => names.indexOf(one) !== index))) {
    problems.push(`XIQ_SINK_CONFIG: alerts: two rules are named "${name}"`);
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return rules;
}

function parseRule(
  { use, ...given }: z.output<typeof entrySchema>,
  index: number,
  destinations: readonly string[],
  problems: string[],
): readonly ConfiguredRule[] {
  const builtIn = BUILT_IN_RULES.find(({ name }) => name === use);
  const parsed = alertRuleSchema.safeParse({ title: given['name'], ...builtIn, ...given }, plainProblems);
  const called =
    z.object({ name: z.string() }).safeParse({ ...builtIn, ...given }).data?.name ?? String(index);
  const report = (path: readonly PropertyKey[], message: string) =>
    problems.push(`rule ${called}${pathOf(path)}: ${message}`);
  for (const { path, message } of parsed.error?.issues ?? []) report(path, message);
  if (!parsed.success) return [];
  const rule = parsed.data;
  for (const [path, message] of contradictionsOf(rule)) report([path], message);
  for (const name of rule.destinations ?? []) {
    if (!destinations.includes(name)) report(['destinations'], `there is no destination ${name}`);
  }
  return [{ ...rule, fingerprint: hash('sha256', JSON.stringify(rule), 'hex') }];
}

/** Reads an entry that was added to the database. Undefined with any problem, of which `problems` gains a line. */
export function parseAddedRule(
  definition: AddedOutput['definition'],
  destinations: readonly string[],
  problems: string[],
): ConfiguredRule | undefined {
  const own: string[] = [];
  const { data: entry, error } = entrySchema.safeParse(definition);
  for (const { path, message } of error?.issues ?? []) own.push(`rule${pathOf(path)}: ${message}`);
  const [rule] = entry === undefined ? [] : parseRule(entry, 0, destinations, own);
  problems.push(...own);
  return own.length === 0 ? rule : undefined;
}

const pathOf = (path: readonly PropertyKey[]) => (path.length === 0 ? '' : `: ${path.join('.')}`);

/** The rules that are switched on, and the built-in ones that are not. */
export function allRules(configured: readonly AlertRule[]): readonly AlertRule[] {
  const others = BUILT_IN_RULES.filter(({ name }) => !configured.some((rule) => rule.name === name));
  return [...configured, ...others.map((rule) => alertRuleSchema.parse(rule))];
}

/** The rule of this name: one that is switched on, else the built-in one. Throws a UsageError if there is neither. */
export function findRule(configured: readonly AlertRule[], name: string): AlertRule {
  const rules = allRules(configured);
  const rule = rules.find((one) => one.name === name);
  if (rule !== undefined) return rule;
  const names = rules.map((one) => one.name);
  const closest = closestName(name, names);
  const hint = closest === undefined ? '' : ` Did you mean ${closest}?`;
  throw new UsageError(`There is no rule "${name}".${hint} Rules: ${names.join(', ')}.`);
}

/** Whatever a search finds without a pause of so long is one alert, so that a wide search raises few. */
const WITHIN = '10m';

/**
 * The rules of the settings, those that were added to the database, and those of saved searches. Of two with the same name,
 * the first counts. A search that the grammar no longer accepts has none.
 */
export async function withStoredRules(
  db: Db,
  configured: readonly ConfiguredRule[],
): Promise<readonly ConfiguredRule[]> {
  const [outputs, searches] = await Promise.all([listAddedOutputs(db), listRaisingSearches(db)]);
  const rules = [
    ...configured,
    ...readAddedRules(outputs),
    ...searches.flatMap((search) => ruleOf(search) ?? []),
  ];
  return rules.filter(({ name }, index) => rules.findIndex((one) => one.name === name) === index);
}

/** The rules among what was added to the database. A destination that is missing is no reason to raise no alert. */
export const readAddedRules = (outputs: readonly AddedOutput[]): readonly ConfiguredRule[] =>
  outputs
    .filter(({ kind }) => kind === 'rule')
    .flatMap(({ definition }) => parseAddedRule(definition, destinationsOf(definition), []) ?? []);

/** The destinations that the definition of a rule names. */
export const destinationsOf = (definition: AddedOutput['definition']): readonly string[] =>
  z.object({ destinations: z.array(z.string()) }).safeParse(definition).data?.destinations ?? [];

function ruleOf({ id, name, line, sources }: RaisingSearch): ConfiguredRule | undefined {
  const { data: rule } = alertRuleSchema.safeParse({
    name: `search-${id}`,
    title: name,
    filter: { search: line, ...(sources !== null && { sources }) },
    within: WITHIN,
  });
  return rule && { ...rule, fingerprint: hash('sha256', JSON.stringify(rule), 'hex') };
}
