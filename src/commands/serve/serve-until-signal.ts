import type { Config } from '../../config.ts';
import { createLogger } from '../../logger.ts';
import type { Role } from '../../serve/roles.ts';
import { startService } from '../../serve/start-service.ts';
import { welcome } from './welcome.ts';

/** Time limit of a shutdown; after it the process exits even if something hangs. */
const STOP_TIMEOUT_MS = 10_000;

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * `serve`: runs until SIGINT or SIGTERM, then stops everything in reverse order of the start. A second signal, or a
 * shutdown of more than 10 s, ends the process at once: deliveries that were answered with 200 are durable.
 */
export async function serveUntilSignal(config: Config, role: Role): Promise<void> {
  const logger = createLogger(config.logLevel);
  const signalled = nextSignal();
  const started = performance.now();
  const service = await startService(config, role, logger);
  const { port, adminPort } = service;
  logger.info({ role, port, adminPort, ms: Math.round(performance.now() - started) }, 'ready');
  process.stdout.write(`${welcome(service, config, role)}\n`);

  const signal = await signalled;
  logger.info({ signal }, 'stopping: finishing accepted deliveries');
  void nextSignal().then((second) => leave(`${second} again: exiting at once`));
  const timeout = setTimeout(
    () => leave(`exiting: the shutdown took longer than ${STOP_TIMEOUT_MS / 1_000} s`),
    STOP_TIMEOUT_MS,
  );
  await service.stop();
  clearTimeout(timeout);
  logger.info('stopped');
  process.exit(0);

  function leave(reason: string): void {
    logger.error(reason);
    process.exit(1);
  }
}

function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.once(signal, resolve);
  });
}
