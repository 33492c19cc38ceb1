/** The worker of one life of a process. */
import type { Logger } from 'pino';
import { startStoring } from '../../../src/handlers/start-storing.ts';
import { UNOBSERVED } from '../../../src/queue/delivery-observer.ts';
import { openLimited } from '../../../src/store/server/database.ts';

/** Stores what the queue has from now on. */
export async function startWorker(logger: Logger) {
  const started = new AsyncDisposableStack();
  const databaseUrl = 'postgres://simulated';
  await startStoring(
    {
      config: { erasureKeyFile: '/none' },
      databaseUrl,
      db: openLimited('storing', databaseUrl, () => undefined),
      queueLocation: { kind: 'redis', url: 'redis://simulated' },
      observation: { deliveries: UNOBSERVED, addPool: () => undefined },
      logger,
    },
    started,
  );
  return { stop: () => started.disposeAsync() };
}
