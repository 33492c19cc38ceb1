import { clientOf, createCloudClient, type CloudClient } from '../../cloud/client.ts';
import { isMissing } from '../../cloud/cloud-api-error.ts';
import { describeRestriction } from '../../cloud/hiq.ts';
import type { TokenInfo } from '../../cloud/contract/auth.ts';
import { commandName } from '../../lib/text/command-name.ts';
import type { Config, SourceConfig } from '../../config/config.ts';
import { describeError } from '../../lib/errors.ts';
import { createLogger } from '../../lib/logger.ts';
import { changesOf, describeChange, type Change } from '../../subscribe/plan.ts';
import { createSubscribers, demandPermissions } from '../../subscribe/subscriber.ts';
import { readSecrets } from '../../sources/webhook-secret.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import type { CloudSource } from '../../sources/cloud-sources.ts';
import { listRefusedLogins } from '../../store/sources/refused-logins.ts';
import { listSources } from '../../store/sources/sources.ts';
import { countOf } from '../../lib/text/units.ts';
import { fail, LIMIT_MS, ok, skipped, warn, type Finding, type Check } from './check.ts';
import type { DatabaseAccess } from './database.ts';
import { probesAt, type Observation } from '../../cloud/survey.ts';

const HOUR_S = 60 * 60;
const DAY_S = 24 * HOUR_S;

/** Remaining days of validity below which a token is a warning. */
const WARN_DAYS = 30;

/** Checks that the cloud accepts our credentials, for how long, and that they permit to manage subscriptions. */
export async function checkApi(
  source: CloudSource,
  database: Pick<DatabaseAccess, 'open'>,
  signal: AbortSignal,
): Promise<Finding> {
  const client = clientOf(await readableIn(database), source, { timeoutMs: LIMIT_MS });
  try {
    const info = await client.authorization.tokenInfo(signal);
    await demandPermissions(client, ['read', 'write'], signal);
    // Some tokens lack the permission for this call. They are fine otherwise.
    const account = await client.account.viq(signal).catch(() => undefined);
    if (account?.expired === true)
      return warn(`${info.user_name}: the account has expired`, "renew the account's licence in the cloud");
    // A login is renewed automatically.
    const access =
      'apiToken' in source.cloud.credentials ? describeToken(info) : ok(`logs in as ${info.user_name}`);
    return access.status === 'ok' ? ((await findHidden(client, signal)) ?? access) : access;
  } catch (error) {
    return fail(
      describeError(error),
      'check CLOUD_API_URL, the credentials and their permissions, and outgoing firewall rules',
    );
  } finally {
    await client.logout(signal).catch(() => undefined);
  }
}

/** Reports organizations that are hidden from these credentials, or may be. */
async function findHidden({ hiq }: CloudClient, signal: AbortSignal): Promise<Finding | undefined> {
  try {
    // Without their list, nobody knows whether the context names all of them.
    await hiq.organizations(signal);
    const shown = await hiq.restrictedTo(signal);
    if (shown.length === 0) return undefined;
    return warn(
      describeRestriction(shown),
      'set the reading context to all organizations (PUT /hiq/context/reading with an empty list)',
    );
  } catch (error) {
    if (!isMissing(error, [403])) throw error;
    return warn(
      describeError(error),
      "add the permissions hiq:r and hiq.ctx:r to the API token, or to the user's role",
    );
  }
}

/** The database, if the refused logins can be read in it. The cloud can be checked all the same. */
async function readableIn(database: Pick<DatabaseAccess, 'open'>) {
  const db = (await database.open().catch(() => undefined))?.db;
  return (
    db &&
    listRefusedLogins(db).then(
      () => db,
      () => undefined,
    )
  );
}

function describeToken({ user_name: name, expires_in, expiration_time }: TokenInfo): Finding {
  const seconds = expires_in ?? (Date.parse(expiration_time ?? '') - Date.now()) / 1_000;
  if (Number.isNaN(seconds)) return ok(`the cloud does not report when the token of ${name} expires`);
  const days = Math.floor(seconds / DAY_S);
  const left = days > 0 ? countOf(days, 'day') : countOf(Math.floor(seconds / HOUR_S), 'hour');
  const end = new Date(Date.now() + seconds * 1_000).toISOString().slice(0, 16);
  const validity = `the token of ${name} is valid for ${left}, until ${end}Z`;
  const remedy = 'create a new API token in the cloud, and set CLOUD_API_TOKEN to it';
  return days < WARN_DAYS ? warn(validity, remedy) : ok(validity);
}

/** Checks that the subscriptions of a source match the settings. Generates no secret. */
export async function checkSubscriptions(
  access: DatabaseAccess,
  config: Config,
  source: string,
  signal: AbortSignal,
): Promise<Finding> {
  const { publicUrl } = config;
  if (publicUrl === undefined) return skipped('needs PUBLIC_URL');
  const sources = await readSecrets(config);
  const { db } = access.opened();
  const logger = createLogger('silent');
  const allNames = (await listSources(db, ALL_SOURCES)).map(({ name }) => name);
  const subscribers = createSubscribers({ sources, allNames, publicUrl, db, logger });
  const subscriber = subscribers.find((one) => one.source === source);
  if (subscriber === undefined)
    return skipped('there is no webhook secret yet', `run ${commandName()} serve`);
  try {
    const { steps, notOffered } = await subscriber.plan('subscribed', signal);
    const finding = describeChanges(changesOf(steps), steps.length);
    if (notOffered.length === 0) return finding;
    return { ...finding, message: `${finding.message}; not offered by this cloud: ${notOffered.join(', ')}` };
  } finally {
    await subscriber.logout(signal).catch(() => undefined);
  }
}

function describeChanges(changes: readonly Change[], steps: number): Finding {
  if (changes.length === 0) return ok(`${countOf(steps, 'subscription')} up to date`);
  const remedy = `run ${commandName()} subscribe plan to see the changes, then subscribe apply (or set SUBSCRIBE=auto)`;
  const differences = `not up to date: ${changes.map(describeChange).join(', ')}`;
  // A surplus subscription does no harm; a missing or wrong one loses events.
  return changes.every(({ action }) => action === 'delete')
    ? warn(differences, remedy)
    : fail(differences, remedy);
}

/** Longer than that of other checks: a busy cloud requests a pause. */
const LIVE_LIMIT_MS = 60_000;

export type Examination = ReturnType<typeof liveChecks>;

/**
 * The checks of `doctor --live`: read-only calls that compare the cloud of each source with the documentation of its API.
 * The report names no source, because people send it to others.
 */
export function liveChecks(sources: readonly SourceConfig[]) {
  const clouds = sources.flatMap(({ cloud }) => cloud ?? []);
  const clients = clouds.map(({ apiUrl: baseUrl, ...access }) => createCloudClient({ baseUrl, ...access }));
  const checks = clients.flatMap((client, index): Check[] => {
    const nameOf = (name: string) => (clients.length === 1 ? name : `cloud ${index + 1}: ${name}`);
    const [first, ...others] = probesAt(Date.now()).map((probe) => ({
      name: nameOf(probe.name),
      limitMs: LIVE_LIMIT_MS,
      run: async (signal: AbortSignal) => findingOf(await client.observe(probe, signal)),
    }));
    return first === undefined ? [] : [first, ...others.map((check) => ({ ...check, needs: [first.name] }))];
  });
  return {
    checks: checks.length === 0 ? [{ name: 'api', run: async () => NOT_CONFIGURED }] : checks,
    async close(): Promise<void> {
      await Promise.all(clients.map((client) => client.logout()));
    },
  };
}

const NOT_CONFIGURED = fail(
  'API access to the cloud is not configured',
  'set CLOUD_API_URL with CLOUD_API_TOKEN, or with CLOUD_USERNAME and CLOUD_PASSWORD',
);

const SEND = 'open an issue with this report: it contains member names and types, but no values';

function findingOf({ result, report }: Observation): Finding {
  switch (result) {
    case 'as documented':
      return ok(report);
    case 'new members':
      return warn(report, SEND);
    case 'undocumented':
      return fail(report, SEND);
    case 'not permitted':
    case 'not offered':
      return { ...skipped(report), stops: false };
    case 'failed':
      return fail(report, 'run doctor without --live for the cause');
  }
}
