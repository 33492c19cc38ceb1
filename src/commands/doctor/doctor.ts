import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import { UsageError } from '../../errors.ts';
import { createSecrets } from '../../secrets.ts';
import type { Secrets } from '../../secrets.ts';
import { fail, skipped } from './check.ts';
import { checksOf } from './checks.ts';
import { createDatabaseAccess } from './database-access.ts';
import { printReport } from './report.ts';
import { runChecks } from './run-checks.ts';
import type { Running } from './run-checks.ts';
import { FAILED, WRONG_USAGE } from '../exit-codes.ts';
import type { Settings } from '../settings.ts';

/** Closing may hang where a check has hung. */
const CLOSE_LIMIT_MS = 15_000;

/**
 * `doctor`: checks all that this program depends on, and changes nothing. Gives the exit code: 0 when nothing fails,
 * 1 when something does, 2 when the settings are wrong.
 */
export async function examine(settings: Settings, asJson: boolean): Promise<number> {
  let config: Config;
  try {
    config = await settings();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    await printReport(wrongSettings(error), asJson, createSecrets());
    return WRONG_USAGE;
  }
  const access = createDatabaseAccess(config);
  try {
    const counts = await printReport(runChecks(checksOf(config, access)), asJson, secretsOf(config));
    return counts.fail > 0 ? FAILED : 0;
  } finally {
    await Promise.race([access.close(), sleep(CLOSE_LIMIT_MS, undefined, { ref: false })]);
  }
}

/** A finding for each line of what is wrong with the settings, and one for what was not looked at. */
function wrongSettings({ message }: UsageError): Running[] {
  const [heading = '', ...problems] = message.split('\n');
  const lines = problems.length > 0 ? problems.map((line) => line.trim()) : [heading];
  return [
    ...lines.map((line) => ({ name: 'configuration', found: fail(line, 'correct it: see .env.example') })),
    { name: 'all others', found: skipped('need configuration') },
  ].map(({ name, found }) => ({ name, finding: Promise.resolve(found) }));
}

/** What a message of some server could quote. */
function secretsOf({ databaseUrl, redisUrl, sources, forwarding }: Config): Secrets {
  const secrets = createSecrets();
  for (const url of [databaseUrl, redisUrl, forwarding.forwardTo]) {
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
