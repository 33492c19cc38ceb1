import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { styleText } from 'node:util';
import type { Logger } from 'pino';
import { commandName, quoteForShell } from '../../lib/text/command-name.ts';
import { CLOUD_TYPES } from '../../events/domain.ts';
import { countEvents } from '../../store/events/search-events.ts';
import { EMULATOR_LOGINS } from '../../../emulator/accounts.ts';
import { createEmulator } from '../../../emulator/emulator.ts';
import type { Db } from '../../store/server/database.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { loadSettings, type ServiceConfig } from '../../serve/load-settings.ts';
import { withStore } from '../../serve/open-store.ts';
import { sampleBody } from '../../ingest/sample-delivery.ts';
import { startService, type Service } from '../../serve/start-service.ts';
import { countOf } from '../../lib/text/units.ts';
import { showSteps } from '../shared/progress.ts';
import type { Environment } from '../../config/references.ts';

/** Deliveries a second: all message types within a second or two. */
const RATE = 20;

/** On a terminal one line is updated in place; a pipe gets a line every few seconds. */
const TERMINAL_INTERVAL_MS = 500;
const PIPE_INTERVAL_MS = 5_000;

/** A line for each batch would push the screen away within a second. */
export const LOG_LEVEL_OF_DEMO = 'error';

/**
 * `demo`: an emulated cloud, and the service subscribed to it, in one process, until the signal fires. It keeps its
 * database apart from a real one, and uses of the settings only DATA_DIR, HOST, PORT and ADMIN_PORT.
 */
export async function runDemo(env: Environment, logger: Logger, signal: AbortSignal): Promise<void> {
  const dataDir = path.resolve(env['DATA_DIR'] || './data', 'demo');
  const emulator = createEmulator({ rate: RATE, logger });
  const cloudUrl = await emulator.listen(0);
  try {
    const config = demoSettings(env, dataDir, cloudUrl);
    const service = await startService(config, 'all', logger, { signal, runStep: showSteps(logger) });
    try {
      await sendOddDeliveries(service);
      process.stdout.write(`${demoScreen(service, cloudUrl, dataDir)}\n\n`);
      await withStore(config, logger, ({ db }) => showProgress(db, signal));
      process.stdout.write('\nstopping\n');
    } finally {
      await service.stop();
    }
  } catch (error) {
    // Stopped before it had started.
    if (error !== signal.reason) throw error;
  } finally {
    await emulator.close();
  }
}

function demoSettings(env: Environment, dataDir: string, cloudUrl: string): ServiceConfig {
  const port = env['PORT'] || '8080';
  return loadSettings({
    HOST: env['HOST'] || '127.0.0.1',
    PORT: port,
    ADMIN_PORT: env['ADMIN_PORT'] || '8081',
    DATA_DIR: dataDir,
    CLOUD_API_URL: cloudUrl,
    CLOUD_USERNAME: EMULATOR_LOGINS.administrator.username,
    CLOUD_PASSWORD: EMULATOR_LOGINS.administrator.password,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    SUBSCRIBE: 'auto',
    // Not secret: so that sources, and destinations with credentials, can be added in the console.
    SECRETS_KEY: Buffer.alloc(32, 'demo').toString('base64'),
    FORWARD_TO: pathToFileURL(forwardFile(dataDir)).href,
    LOG_LEVEL: LOG_LEVEL_OF_DEMO,
  });
}

const forwardFile = (dataDir: string) => path.join(dataDir, 'forwarded.jsonl');

/** Sends what a cloud sends now and then: a body that is cut off, and one delivery twice. */
async function sendOddDeliveries({ port, sources }: Service): Promise<void> {
  const body = sampleBody(Date.now());
  for (const text of [body.slice(0, -20), body, body]) {
    await fetch(`http://127.0.0.1:${port}/ingest/default/AUDIT_LOG_ALL`, {
      method: 'POST',
      headers: { authorization: `Bearer ${sources[0]?.secrets[0]}` },
      body: text,
    });
  }
}

function demoScreen({ port, adminPort, psqlArgument }: Service, cloudUrl: string, dataDir: string): string {
  const command = (line: string) =>
    `  DATA_DIR=${quoteForShell(dataDir)} ${quoteForShell(commandName())} ${line}`;
  const query = (statement: string) => command(`sql "${statement}"`);
  return [
    styleText('bold', `An emulated cloud at ${cloudUrl} sends to xiq-sink at http://127.0.0.1:${port}`),
    '',
    styleText('bold', `Open the console: http://127.0.0.1:${adminPort}`),
    '',
    'Query events, in another terminal:',
    query('select message_type, count(*), max(occurred_at) from events group by 1 order by 1'),
    query('select occurred_at, user_name, description from audit_log order by 1 desc limit 10'),
    query(
      'select client_mac, count(distinct ap_mac) as seen_by from location_client_centric group by 1 order by 2 desc limit 10',
    ),
    '',
    'Follow events:',
    command('events tail'),
    '',
    'Show the quarantined item and the forwarded events:',
    command('quarantine list'),
    `  tail -f ${forwardFile(dataDir)}`,
    '',
    'With any Postgres client, read-only:',
    `  psql "${psqlArgument}"`,
    '',
    'Press Ctrl-C to stop everything.',
  ].join('\n');
}

async function showProgress(db: Db, signal: AbortSignal): Promise<void> {
  const { isTTY } = process.stdout;
  while (!signal.aborted) {
    const line = await progressLine(db);
    process.stdout.write(isTTY ? `\r\u001B[K${line}` : `${line}\n`);
    await sleep(isTTY ? TERMINAL_INTERVAL_MS : PIPE_INTERVAL_MS, undefined, { signal }).catch(
      () => undefined,
    );
  }
}

async function progressLine(db: Db): Promise<string> {
  const counts = await countEvents(db, ALL_SOURCES);
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const arrived = CLOUD_TYPES.filter((type) => counts.has(type));
  return `${countOf(total, 'event')} of ${arrived.length} of ${CLOUD_TYPES.length} message types have arrived`;
}
