import { createCloudClient } from '../../cloud/client.ts';
import type { TokenInfo } from '../../cloud/contract/auth.ts';
import type { Config, SourceConfig } from '../../config.ts';
import { describeError } from '../../errors.ts';
import { createLogger } from '../../logger.ts';
import { demandPermissions } from '../../subscribe/permissions.ts';
import { changesOf, messageTypeOf } from '../../subscribe/plan.ts';
import type { Change } from '../../subscribe/plan.ts';
import { createSubscribers } from '../../subscribe/create-subscribers.ts';
import { readKeptSecret } from '../../serve/webhook-secret.ts';
import { fail, LIMIT_MS, ok, skipped, warn } from './check.ts';
import type { Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

/** How the API of a source's cloud is reached. */
type CloudAccess = NonNullable<SourceConfig['cloud']>;

const DAY_S = 24 * 60 * 60;

/** Days that a token has left, below which something is to be done: soon, or now. */
const WARN_DAYS = 30;
const FAIL_DAYS = 7;

/** Whether the cloud lets us in, for how long, and lets us keep subscriptions. */
export async function checkApi(
  { apiUrl: baseUrl, credentials }: CloudAccess,
  signal: AbortSignal,
): Promise<Finding> {
  const client = createCloudClient({ baseUrl, credentials, timeoutMs: LIMIT_MS });
  try {
    const info = await client.authorization.tokenInfo(signal);
    await demandPermissions(client, ['read', 'write'], signal);
    // Not every token may ask; then the calls that matter will tell.
    const account = await client.account.viq(signal).catch(() => undefined);
    if (account?.expired === true)
      return warn(`${info.user_name}: the account has expired`, 'renew its licence in the cloud');
    // A login is renewed by itself.
    return 'apiToken' in credentials ? describeToken(info) : ok(`logs in as ${info.user_name}`);
  } catch (error) {
    return fail(
      describeError(error),
      'check CLOUD_API_URL, the credentials and their permissions, and that a firewall lets this machine out',
    );
  } finally {
    await client.logout(signal).catch(() => undefined);
  }
}

function describeToken({ user_name: name, expires_in: seconds }: TokenInfo): Finding {
  if (seconds === undefined || seconds === null) return ok(`the token of ${name} does not expire`);
  const days = Math.floor(seconds / DAY_S);
  const told = `the token of ${name} is valid for ${days} days`;
  const remedy = 'make a new token in the cloud, and set it as CLOUD_API_TOKEN';
  if (days < FAIL_DAYS) return fail(told, remedy);
  return days < WARN_DAYS ? warn(told, remedy) : ok(told);
}

/** Whether the subscriptions of a source are what the settings say. Generates no secret. */
export async function checkSubscriptions(
  access: DatabaseAccess,
  { sources, publicUrl, dataDir }: Config,
  source: string,
  signal: AbortSignal,
): Promise<Finding> {
  if (publicUrl === undefined) return skipped('needs PUBLIC_URL');
  const kept = (await readKeptSecret(dataDir))?.trim() ?? '';
  const complete = sources.map((one) =>
    one.secrets.length > 0 || kept === '' ? one : { ...one, secrets: [kept] },
  );
  const { db } = access.opened();
  const logger = createLogger('silent');
  const subscribers = createSubscribers({ sources: complete, publicUrl, db, logger });
  const subscriber = subscribers.find((one) => one.source === source);
  if (subscriber === undefined) return skipped('there is no webhook secret yet', 'run: xiq-sink serve');
  try {
    const { steps } = await subscriber.plan('subscribed', signal);
    return describeChanges(changesOf(steps), steps.length);
  } finally {
    await subscriber.logout(signal).catch(() => undefined);
  }
}

function describeChanges(changes: readonly Change[], steps: number): Finding {
  if (changes.length === 0) return ok(`${steps} in order`);
  const remedy = 'look: xiq-sink subscribe plan, and repair: xiq-sink subscribe apply (or SUBSCRIBE=auto)';
  const told = `not in order: ${changes.map(describeChange).join(', ')}`;
  // One too many does no harm; one that is missing or wrong loses events.
  return changes.every(({ action }) => action === 'delete') ? warn(told, remedy) : fail(told, remedy);
}

function describeChange(change: Change): string {
  const type = messageTypeOf(change);
  switch (change.action) {
    case 'create':
      return `${type} is missing`;
    case 'update':
      return `${type} has another ${change.differences.map(({ member }) => member).join(' and ')}`;
    case 'delete':
      return `${type} is ${change.reason}`;
  }
}
