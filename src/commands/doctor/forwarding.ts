import { listDestinations, type DestinationStatus } from '../../store/destinations/destinations.ts';
import { commandName } from '../../lib/text/command-name.ts';
import { factsOfDestination, statusOfDestination, type DestinationWord } from '../../observe/status.ts';
import { countOf, formatDuration } from '../../lib/text/units.ts';
import { joinDestinations } from '../../forward/added-destinations.ts';
import { listAddedOutputs } from '../../store/destinations/added-outputs.ts';
import type { Destination } from '../../forward/parse-destinations.ts';
import { fail, ok, warn, type Check, type Finding } from './check.ts';
import type { DatabaseAccess } from './database.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import { withStoredRules } from '../../alerts/parse-rules.ts';
import { ruleBacklog } from '../../store/alerts/alerts.ts';

export function destinationChecks(
  destinations: readonly Pick<Destination, 'name' | 'type'>[],
  access: DatabaseAccess,
): Check[] {
  if (destinations.length === 0) {
    return [{ name: 'destinations', run: async () => ok('none configured: no events are forwarded') }];
  }
  return destinations.flatMap(({ name, type }) => [
    { name: `destination ${name}`, needs: ['migrations'], run: () => checkDestination(access, name) },
    ...(type === 'syslog' ? [{ name: `delivery to ${name}`, run: async () => ok(UNCONFIRMED) }] : []),
  ]);
}

/** Checks the destinations that were added to the database: that each can be used, and the worst state of them. */
export async function checkAddedDestinations(
  access: DatabaseAccess,
  config: ServiceConfig,
): Promise<Finding> {
  const { db } = access.opened();
  const { destinations, conflicts, problems } = joinDestinations(config, await listAddedOutputs(db));
  const [problem] = [...conflicts, ...problems];
  if (problem !== undefined) return fail(problem, "change it on the console's page Destinations");
  const added = destinations.filter(({ origin }) => origin === 'database');
  const findings = await Promise.all(added.map(({ name }) => checkDestination(access, name)));
  const found = ['fail', 'warn'].flatMap((status) =>
    findings.flatMap((one, index) => (one.status === status ? [{ ...one, name: added[index]?.name }] : [])),
  );
  const [worst] = found;
  if (worst !== undefined) return { ...worst, message: `${worst.name}: ${worst.message}` };
  return ok(added.length === 0 ? 'none' : added.map(({ name }) => name).join(', '));
}

/** No setting can change this, so it is not a warning. */
const UNCONFIRMED =
  'syslog has no acknowledgement: events count as sent even if they are lost on the way (UDP), or if a proxy or the receiver reads and then loses them; RELP (relp, relp+tls) is acknowledged';

async function checkDestination(access: DatabaseAccess, name: string): Promise<Finding> {
  const status = (await listDestinations(access.opened().db)).find((one) => one.name === name);
  if (status === undefined) {
    return warn('not started', `run ${commandName()} serve with the role all or forward`);
  }
  return describe(status);
}

function describe(stored: DestinationStatus): Finding {
  const { level, word, what } = statusOfDestination(factsOfDestination(stored), new Date());
  if (level === 'good') return ok(what);
  return (level === 'bad' ? fail : warn)(what, remedyOf(stored, word));
}

function remedyOf({ name, rejected_in_row: inRow }: DestinationStatus, word: DestinationWord): string {
  const command = (action: string) => `run ${commandName()} destinations ${action} ${name}`;
  switch (word) {
    case 'refused':
      return `fix the cause, then ${command('resume')}`;
    case 'paused':
      return `to resume, ${command('resume')}`;
    case 'behind':
      return 'check that serve is running with the role all or forward, and that the destination keeps up';
    case 'events rejected':
      return command('rejected');
    case 'failing':
      return inRow > 0
        ? `${countOf(inRow, 'event')} rejected in a row, none accepted since: ${command('rejected')}`
        : `forwarding is retried; to test it now, ${command('test')}`;
    case 'running':
    case 'not started':
    case 'not configured':
      return command('list');
  }
}

/** Rules that are farther behind do not keep up, or nothing evaluates them. */
const FAR_BEHIND_S = 10 * 60;

/** Checks that the alert rules that are on keep up, and that their destinations exist: those of the settings, of the database and of saved searches. */
export async function checkAlertRules(access: DatabaseAccess, config: ServiceConfig): Promise<Finding> {
  const { db } = access.opened();
  const rules = await withStoredRules(db, config.rules);
  if (rules.length === 0) return ok('all rules are off: no event raises an alert');
  const { names } = joinDestinations(config, await listAddedOutputs(db));
  for (const { name, destinations = [] } of rules) {
    const missing = destinations.find((one) => !names.includes(one));
    if (missing === undefined) continue;
    const problem = `rule ${name} sends its alerts to ${missing}, which does not exist`;
    return warn(problem, "change the rule on the console's page Alerts");
  }
  const { events, since } = await ruleBacklog(db);
  const behindS = since === null ? 0 : (Date.now() - since.getTime()) / 1_000;
  if (behindS <= FAR_BEHIND_S)
    return ok(`${countOf(rules.length, 'rule')} on: ${rules.map(({ name }) => name).join(', ')}`);
  return warn(
    `${countOf(events, 'event')} waiting to be evaluated; the last evaluated one was ${formatDuration(behindS)} ago`,
    `check that ${commandName()} serve is running with the role all or forward`,
  );
}
