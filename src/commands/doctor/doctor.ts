import pTimeout from 'p-timeout';
import type { Config } from '../../config.ts';
import { UsageError } from '../../errors.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import { passwordsOfRedis } from '../../redis-address.ts';
import { createSecrets, type Secrets } from '../../secrets.ts';
import { FAILED, WRONG_USAGE } from '../shared/process.ts';
import type { Settings } from '../shared/run-on-store.ts';
import { fail, FULL_LIMIT_MS, LIMIT_MS, runChecks, skipped, type Running } from './check.ts';
import { checksOf } from './checks.ts';
import { createDatabaseAccess } from './database.ts';
import { liveChecks, type Examination } from './live.ts';
import { printReport } from './report.ts';

/** Closing may hang if a check did. */
const CLOSE_LIMIT_MS = 15_000;

/** The options of `doctor`. */
interface Options {
  readonly asJson: boolean;
  /** Whether it counts all deliveries again. */
  readonly isFull: boolean;
  /** Whether it only compares the cloud's API with its documentation. */
  readonly isLive: boolean;
}

/**
 * `doctor`: checks the whole installation, and changes nothing. Resolves with the exit code: 0 when no check fails, 1
 * when one does, 2 when the settings are wrong.
 */
export async function examine(settings: Settings, { asJson, isFull, isLive }: Options): Promise<number> {
  let config: ServiceConfig;
  try {
    config = await settings();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    await printReport(wrongSettings(error), asJson, createSecrets());
    return WRONG_USAGE;
  }
  const examination = isLive ? liveChecks(config.sources) : checksWithDatabase(config, isFull);
  try {
    const counts = await printReport(runChecks(examination.checks), asJson, secretsOf(config));
    return counts.fail > 0 ? FAILED : 0;
  } finally {
    await pTimeout(examination.close(), { milliseconds: CLOSE_LIMIT_MS, message: false });
  }
}

function checksWithDatabase(config: ServiceConfig, isFull: boolean): Examination {
  const access = createDatabaseAccess(config, isFull ? FULL_LIMIT_MS : LIMIT_MS);
  return { checks: checksOf(config, access, isFull), close: () => access.close() };
}

/** A finding for each wrong setting, and one for all checks that were not made. */
function wrongSettings({ message }: UsageError): Running[] {
  const [heading = '', ...problems] = message.split('\n');
  const lines = problems.length > 0 ? problems.map((line) => line.trim()) : [heading];
  return [
    ...lines.map((line) => ({
      name: 'configuration',
      found: fail(line, 'correct the setting: see .env.example'),
    })),
    { name: 'all others', found: skipped('needs configuration') },
  ].map(({ name, found }) => ({ name, finding: Promise.resolve(found) }));
}

/** The secrets that the message of a server could contain. */
function secretsOf({ databaseUrl, databaseDirectUrl, redisUrl, sources, forwarding }: Config): Secrets {
  const secrets = createSecrets();
  for (const password of redisUrl === undefined ? [] : passwordsOfRedis(redisUrl)) secrets.add(password);
  for (const url of [databaseUrl, databaseDirectUrl, forwarding.forwardTo]) {
    const password = url === undefined ? '' : (URL.parse(url)?.password ?? '');
    secrets.add(password);
    secrets.add(decodeURIComponent(password));
  }
  for (const { secrets: own, cloud } of sources) {
    for (const secret of own) secrets.add(secret);
    if (cloud === undefined) continue;
    secrets.add('apiToken' in cloud.credentials ? cloud.credentials.apiToken : cloud.credentials.password);
  }
  secrets.add(forwarding.forwardToken ?? '');
  return secrets;
}
