import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { EmbeddedPostgres } from '../../embedded/embedded-postgres.ts';
import { describeError } from '../../lib/errors.ts';
import { createLogger } from '../../lib/logger.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import type { Role } from '../../config/roles.ts';
import { startService, type Service } from '../../serve/start-service.ts';
import { showSteps } from '../shared/progress.ts';
import { welcome } from './welcome.ts';

/** How long a shutdown may take. The embedded database is stopped at once then, which takes another second or so. */
const STOP_TIMEOUT_MS = 7_000;

/** How long the process waits for the embedded database when it stops at once. */
const IMMEDIATE_TIMEOUT_MS = 2_500;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The roles that a proxy sends requests to. */
const DRAINING: ReadonlySet<Role> = new Set(['all', 'ingest', 'console']);

/**
 * `serve`: runs until SIGINT or SIGTERM, then stops everything in the reverse order of the start, and ends with exit code
 * 0. After SIGTERM it first drains, for `DRAIN_SECONDS`. A signal during the start ends the start. A second signal, or a
 * shutdown that takes longer than 7 s after the draining, ends the process at once, with exit code 1: every delivery
 * answered with 200 is durable by then. The embedded database never keeps running.
 */
export async function serveUntilSignal(
  config: ServiceConfig,
  role: Role,
  reread: () => Promise<ServiceConfig>,
): Promise<void> {
  const logger = createLogger(config.logLevel);
  let embedded: Promise<EmbeddedPostgres> | undefined;
  let timeout: NodeJS.Timeout | undefined;
  const leave = (reason: string) => void leaveAtOnce(reason, embedded, logger);
  const limitStop = () => {
    timeout = setTimeout(leave, STOP_TIMEOUT_MS, `not stopped within ${STOP_TIMEOUT_MS} ms`);
  };
  const stopping = new AbortController();
  let service: Service | undefined;
  const signalled = new Promise<NodeJS.Signals>((resolve) => {
    onSignals((signal, count) => {
      if (count === 2) leave(`${signal} again: exiting immediately`);
      if (count > 1) return;
      logger.info({ signal }, 'stopping: finishing accepted deliveries');
      if (service === undefined) limitStop();
      stopping.abort();
      resolve(signal);
    });
  });
  const started = performance.now();
  const reloads = reloadOnSignal();
  try {
    service = await startService(config, role, logger, {
      signal: stopping.signal,
      reread,
      runStep: showSteps(logger),
      onEmbedded(server) {
        embedded = server;
        // Its failure is the start's as well.
        server.catch(() => undefined);
      },
    });
    const { port, adminPort } = service;
    const ready = { role, port, adminPort, ms: Math.round(performance.now() - started) };
    reloads.begin(service);
    if (process.stdout.isTTY) process.stdout.write(`${welcome(service, config, role)}\n`);
    // A pipe may lead to a log that others read and that is kept: it gets the file, never the secret.
    else if (service.secrets?.generated !== undefined) {
      logger.info({ file: service.secrets.secretFile }, 'webhook secret generated');
    }
    logger[process.stderr.isTTY ? 'debug' : 'info'](ready, 'ready');
    const signal = await signalled;
    if (signal === 'SIGTERM' && DRAINING.has(role)) await drain(service, config.drainSeconds, logger);
    if (timeout === undefined) limitStop();
    await service.stop();
  } catch (error) {
    if (error !== stopping.signal.reason) throw error;
  } finally {
    clearTimeout(timeout);
  }
  logger.info('stopped');
  process.exit(0);
}

async function drain(service: Service, seconds: number, logger: Logger): Promise<void> {
  if (seconds === 0) return;
  logger.info({ seconds }, 'draining: no longer ready, but deliveries are still accepted');
  service.drain();
  await sleep(seconds * 1_000);
}

/** Ends the process, and before that the embedded database, which is a daemon of its own. */
async function leaveAtOnce(reason: string, embedded: Promise<EmbeddedPostgres> | undefined, logger: Logger) {
  logger.error(reason);
  setTimeout(() => process.exit(1), IMMEDIATE_TIMEOUT_MS);
  try {
    await (await embedded)?.stop('immediate');
  } catch (error) {
    logger.error({ err: error }, `the embedded Postgres was not stopped: ${describeError(error)}`);
  }
  process.exit(1);
}

/** SIGHUP reloads the settings; one during the start does so after it. */
function reloadOnSignal(): { begin(service: Service): void } {
  let running: Service | undefined;
  let isAsked = false;
  process.on('SIGHUP', (signal) => {
    isAsked = true;
    void running?.reload(signal);
  });
  return {
    begin(service) {
      running = service;
      if (isAsked) void service.reload('SIGHUP');
    },
  };
}

/**
 * The listeners stay: in the moment between two that listen once, a second signal would end the process by itself, and
 * leave the embedded database running.
 */
function onSignals(handle: (signal: NodeJS.Signals, count: number) => void): void {
  let count = 0;
  for (const name of SIGNALS) {
    process.on(name, (signal) => {
      count += 1;
      handle(signal, count);
    });
  }
}
