import { unescape } from 'node:querystring';
import pTimeout from 'p-timeout';
import type { Config } from '../../config/config.ts';
import { checkDataDirectory } from '../../lib/files/data-directory.ts';
import { UsageError } from '../../lib/errors.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import { passwordsOfRedis } from '../../lib/redis-address.ts';
import { createSecrets, type Secrets } from '../../lib/secrets.ts';
import { FAILED, WRONG_USAGE } from '../shared/process.ts';
import type { Settings } from '../shared/run-on-store.ts';
import { fail, FULL_LIMIT_MS, LIMIT_MS, runChecks, skipped, type Running } from './check.ts';
import { checksOf } from './checks.ts';
import { createDatabaseAccess } from './database.ts';
import { liveChecks, type Examination } from './cloud.ts';
import { styleText } from 'node:util';
import { escapeHiddenInJson, revealOnLine } from '../../lib/text/hidden-characters.ts';
import { print, wrapBeside } from '../shared/output.ts';
import type { Finding, Status } from './check.ts';

/** Closing may hang if a check did. */
const CLOSE_LIMIT_MS = 15_000;

/**
 * `doctor`: checks the whole installation, and changes nothing. Resolves with the exit code: 0 when no check fails, 1
 * when one does, 2 when the settings are wrong.
 */
export async function examine(
  settings: Settings,
  {
    json: asJson = false,
    full: isFull = false,
    live: isLive = false,
  }: { json?: boolean | undefined; full?: boolean | undefined; live?: boolean | undefined },
): Promise<number> {
  let config: ServiceConfig;
  try {
    config = await settings();
    await checkDataDirectory(config.dataDir);
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

function secretsOf({ redisUrl, sources, forwarding, ...config }: Config): Secrets {
  const urls = [
    config.databaseUrl,
    config.databaseDirectUrl,
    config.migrationDatabaseUrl,
    config.readerDatabaseUrl,
    config.bootstrapDatabaseUrl,
    forwarding.forwardTo,
  ];
  const ofSources = sources.flatMap(({ secrets, cloud }) => {
    if (cloud === undefined) return secrets;
    const { credentials } = cloud;
    return [...secrets, 'apiToken' in credentials ? credentials.apiToken : credentials.password];
  });
  return createSecrets([
    ...(redisUrl === undefined ? [] : passwordsOfRedis(redisUrl)),
    ...urls.flatMap((url) => (url === undefined ? [] : passwordsOfUrl(url))),
    ...ofSources,
    forwarding.forwardToken,
    config.admin.token,
    config.openId?.clientSecret,
    config.archive.s3?.secret_access_key,
  ]);
}

/** The password in a URL, as it is written and as it is sent. */
function passwordsOfUrl(url: string): readonly string[] {
  const { password = '' } = URL.parse(url) ?? {};
  return [password, unescape(password)];
}

type Counts = Readonly<Record<Status, number>>;

const COLOUR = { ok: 'green', warn: 'yellow', fail: 'red', skipped: 'dim' } as const;

const STATUS_WIDTH = 'skipped'.length;

/**
 * Prints each finding as soon as it and those before it are known, as JSON objects or as text with a summary; coloured
 * on a terminal. Secrets are hidden.
 */
async function printReport(checks: readonly Running[], asJson: boolean, secrets: Secrets): Promise<Counts> {
  const counts = { ok: 0, warn: 0, fail: 0, skipped: 0 };
  const width = Math.max(...checks.map(({ name }) => name.length));
  for (const { name, finding } of checks) {
    const found = await finding;
    counts[found.status] += 1;
    // Before a secret may be wrapped.
    const hide = (text: string) => secrets.hide(text);
    const lines = asJson ? [hide(toJson(name, found))] : toLines(hide(name).padEnd(width), found, hide);
    for (const line of lines) print(line);
  }
  if (!asJson) print(`\n${summary(counts)}`);
  return counts;
}

function toJson(check: string, { status, message, remedy }: Finding): string {
  return escapeHiddenInJson(JSON.stringify({ check, status, message, remedy: remedy ?? null }));
}

function toLines(
  name: string,
  { status, message, remedy }: Finding,
  hide: (text: string) => string,
): string[] {
  const label = styleText(COLOUR[status], status.padEnd(STATUS_WIDTH));
  const indent = ' '.repeat(STATUS_WIDTH + name.length + 4);
  const wrapped = wrapBeside(indent, hide(revealOnLine(message)));
  const text = status === 'skipped' ? styleText('dim', wrapped) : wrapped;
  return [
    `${label}  ${name}  ${text}`,
    ...(remedy === undefined || status === 'ok'
      ? []
      : [`${indent}${styleText('dim', wrapBeside(indent, hide(`-> ${revealOnLine(remedy)}`)))}`]),
  ];
}

function summary(counts: Counts): string {
  const parts = (['ok', 'warn', 'fail', 'skipped'] as const)
    .filter((status) => counts[status] > 0)
    .map((status) => styleText(COLOUR[status], `${counts[status]} ${status}`));
  return parts.join(', ');
}
