import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { styleText } from 'node:util';
import type { Logger } from 'pino';
import { loadConfig } from '../../config.ts';
import { MESSAGE_TYPES } from '../../domain.ts';
import { EMULATOR_LOGINS } from '../../../emulator/accounts.ts';
import { createEmulator } from '../../../emulator/emulator.ts';
import type { Db } from '../../store/database.ts';
import { countEvents } from '../../store/search-events.ts';
import { withStore } from '../../serve/open-store.ts';
import { startService } from '../../serve/start-service.ts';
import type { Service } from '../../serve/start-service.ts';

/** Deliveries a second: all nine message types within a second or two. */
const RATE = 20;

/** A terminal gets a live line, a pipe a line now and then. */
const TERMINAL_INTERVAL_MS = 500;
const PIPE_INTERVAL_MS = 5_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * `demo`: an emulated cloud, and the service subscribed to it, in one process, until the signal fires. It keeps its
 * database apart from a real one, and uses of the settings only DATA_DIR, HOST, PORT and ADMIN_PORT.
 */
export async function runDemo(env: Environment, logger: Logger, signal: AbortSignal): Promise<void> {
  const dataDir = path.join(env['DATA_DIR'] ?? './data', 'demo');
  const emulator = createEmulator({ rate: RATE, logger });
  const cloudUrl = await emulator.listen(0);
  try {
    const config = demoConfig(env, dataDir, cloudUrl);
    const service = await startService(config, 'all', logger);
    try {
      process.stdout.write(`${demoScreen(service, cloudUrl, dataDir)}\n\n`);
      await withStore(config, logger, ({ db }) => showProgress(db, signal));
      process.stdout.write('\nstopping\n');
    } finally {
      await service.stop();
    }
  } finally {
    await emulator.close();
  }
}

function demoConfig(
  { HOST = '127.0.0.1', PORT = '8080', ADMIN_PORT = '8081' }: Environment,
  dataDir: string,
  cloudUrl: string,
) {
  return loadConfig({
    HOST,
    PORT,
    ADMIN_PORT,
    DATA_DIR: dataDir,
    CLOUD_API_URL: cloudUrl,
    CLOUD_USERNAME: EMULATOR_LOGINS.administrator.username,
    CLOUD_PASSWORD: EMULATOR_LOGINS.administrator.password,
    PUBLIC_URL: `http://127.0.0.1:${PORT}`,
    SUBSCRIBE: 'auto',
  });
}

function demoScreen({ port, adminPort, readerUrl }: Service, cloudUrl: string, dataDir: string): string {
  const ask = (statement: string) => `  DATA_DIR=${dataDir} bin/xiq-sink sql "${statement}"`;
  return [
    styleText('bold', `An emulated cloud at ${cloudUrl} sends to xiq-sink at http://127.0.0.1:${port}`),
    '',
    styleText('bold', `Look at it: http://127.0.0.1:${adminPort}`),
    '',
    'Ask it, in another terminal:',
    ask('select message_type, count(*), max(occurred_at) from events group by 1 order by 1'),
    ask('select occurred_at, user_name, description from audit_log order by 1 desc limit 10'),
    ask(
      'select client_mac, count(distinct ap_mac) as seen_by from location_client_centric group by 1 order by 2 desc limit 10',
    ),
    '',
    'Follow it:',
    `  DATA_DIR=${dataDir} bin/xiq-sink events tail`,
    '',
    'With any Postgres client, read only:',
    `  psql "${readerUrl}"`,
    '',
    'Ctrl-C stops all of it.',
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
  const counts = await countEvents(db);
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return `${total.toLocaleString('en')} events of ${counts.size} of ${MESSAGE_TYPES.length} message types have arrived`;
}
