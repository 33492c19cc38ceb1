import type { Logger } from 'pino';
import type { EmbeddedPostgres } from '../../embedded/embedded-postgres.ts';
import { describeError } from '../../errors.ts';
import { createLogger } from '../../logger.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import type { Role } from '../../serve/roles.ts';
import { startService } from '../../serve/start-service.ts';
import type { Service } from '../../serve/start-service.ts';
import { welcome } from './welcome.ts';

/** How long a shutdown may take. The embedded database is stopped at once then, which takes another second or so. */
const STOP_TIMEOUT_MS = 7_000;

/** How long the process waits for the embedded database when it stops at once. */
const IMMEDIATE_TIMEOUT_MS = 2_500;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * `serve`: runs until SIGINT or SIGTERM, then stops everything in the reverse order of the start. A second signal, or a
 * start or shutdown that takes longer than 7 s after the first, ends the process at once: every delivery answered with
 * 200 is durable by then. The embedded database never keeps running.
 */
export async function serveUntilSignal(
  config: ServiceConfig,
  role: Role,
  reread: () => Promise<ServiceConfig>,
): Promise<void> {
  const logger = createLogger(config.logLevel);
  let embedded: Promise<EmbeddedPostgres> | undefined;
  let timeout: NodeJS.Timeout | undefined;
  const signalled = (async () => {
    const signal = await nextSignal();
    logger.info({ signal }, 'stopping: finishing accepted deliveries');
    const leave = (reason: string) => void leaveAtOnce(reason, embedded, logger);
    timeout = setTimeout(leave, STOP_TIMEOUT_MS, `not stopped within ${STOP_TIMEOUT_MS} ms`);
    void nextSignal().then((second) => leave(`${second} again: exiting at once`));
  })();
  const started = performance.now();
  const reloads = reloadOnSignal();
  try {
    const service = await startService(config, role, logger, {
      reread,
      onEmbedded(server) {
        embedded = server;
        // Its failure is the start's as well.
        server.catch(() => undefined);
      },
    });
    const { port, adminPort } = service;
    logger.info({ role, port, adminPort, ms: Math.round(performance.now() - started) }, 'ready');
    reloads.begin(service);
    process.stdout.write(`${welcome(service, config, role)}\n`);
    await signalled;
    await service.stop();
  } finally {
    clearTimeout(timeout);
  }
  logger.info('stopped');
  process.exit(0);
}

/** Ends the process, and before that the embedded database, which is a daemon of its own. */
async function leaveAtOnce(
  reason: string,
  embedded: Promise<EmbeddedPostgres> | undefined,
  logger: Logger,
): Promise<void> {
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

function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.once(signal, resolve);
  });
}
