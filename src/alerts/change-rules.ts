import { ConflictError, UsageError } from '../lib/errors.ts';
import { DAY_MS } from '../lib/clock.ts';
import {
  deleteOutput,
  holdDestinations,
  listAddedOutputs,
  putOutput,
  type AddedOutput,
} from '../store/destinations/added-outputs.ts';
import { recordAction, type Operator } from '../store/access/operator-log.ts';
import type { OperatorActionName } from '../store/server/schema/access-tables.ts';
import type { Db, Trx } from '../store/server/database.ts';
import type { Scope } from '../store/server/scope.ts';
import { summarizeAlert } from './alert-record.ts';
import { backtestRule } from './backtest-rule.ts';
import { destinationsOf, parseAddedRule, type ConfiguredRule } from './parse-rules.ts';

/** An entry of `alerts`, as in the settings file. */
type Entry = AddedOutput['definition'];

/** The database with the rules that were added, and the settings in force. */
interface RuleSettings {
  readonly db: Db;
  /** Reads archived events, too. */
  readonly events: Db;
  /** The rules of the settings, which are changed there. */
  readonly configured: () => readonly ConfiguredRule[];
  /** The names of all destinations that an alert can be sent to. */
  readonly destinations: () => readonly string[];
  /** Those of the settings. */
  readonly inSettings: () => readonly { readonly name: string }[];
}

/** The changes of alert rules that the console and the API can make. */
export type RuleChanges = ReturnType<typeof changingRules>;

const TESTED_DAYS = 90;

/** So many alerts of a test are described, the newest. */
const MOST_DESCRIBED = 5;

/**
 * Changes the rules that were added to the database. Throws a UsageError if a setting is wrong, and a ConflictError if the
 * settings have a rule of this name. Processes evaluate a new rule within two seconds.
 */
export function changingRules({ db, events, configured, destinations, inSettings }: RuleSettings) {
  function check(entry: Entry, known = destinations()): ConfiguredRule {
    const problems: string[] = [];
    const rule = parseAddedRule(entry, known, problems);
    if (rule === undefined) throw new UsageError(problems.join('\n'));
    mustNotBeConfigured(rule.name);
    return rule;
  }

  function mustNotBeConfigured(name: string): void {
    if (!configured().some((rule) => rule.name === name)) return;
    throw new ConflictError(
      'RULE_IN_SETTINGS',
      `the rule "${name}" is in the settings: change it there, and reload`,
    );
  }

  function record(
    operator: Operator,
    action: OperatorActionName,
    subject: string,
    details: Entry,
    work: () => Promise<void>,
  ): Promise<void> {
    mustNotBeConfigured(subject);
    return recordAction(db, { operator, action, subject, details }, work);
  }

  return {
    /** The rule of an entry. */
    check,
    /** The entries that were added, by the names of their rules. */
    entries: async (): Promise<ReadonlyMap<string, Entry>> =>
      new Map(
        (await listAddedOutputs(db))
          .filter(({ kind }) => kind === 'rule')
          .map(({ name, definition }) => [name, definition]),
      ),
    /** Switches a rule on, for events that are stored from now on; one that is on starts over with its new settings. */
    async save(operator: Operator, entry: Entry): Promise<void> {
      const { name } = check(entry);
      const save = async (trx: Trx) => {
        const held = await holdDestinations(trx, destinationsOf(entry));
        const known = [...inSettings(), ...held].map((one) => one.name);
        check(entry, known);
        await putOutput(trx, { kind: 'rule', name, definition: entry });
      };
      await record(operator, 'rule.save', name, entry, () => db.transaction().execute(save));
    },
    remove: (operator: Operator, name: string): Promise<void> =>
      record(operator, 'rule.delete', name, {}, () => deleteOutput(db, 'rule', name)),
    /** The alerts that a rule would have raised in the last 90 days: how many, and the newest ones in a sentence each. */
    async backtest(scope: Scope, entry: Entry, signal: AbortSignal) {
      const until = new Date();
      const range = { since: new Date(until.getTime() - TESTED_DAYS * DAY_MS), until };
      let raised = 0;
      let newest: string[] = [];
      for await (const alert of backtestRule(events, scope, check(entry), range, signal)) {
        raised += 1;
        newest = [summarizeAlert(alert), ...newest].slice(0, MOST_DESCRIBED);
      }
      return { days: TESTED_DAYS, raised, newest };
    },
  };
}
