/** The worker of one life of a process. */
import { startStoring } from '../../../src/handlers/start-storing.ts';
import { UNOBSERVED } from '../../../src/queue/delivery-observer.ts';
import { openLimited } from '../../../src/store/server/database.ts';
import { processOf, type Service, type Start } from '../simulated-process.ts';

processOf(import.meta.url).begin = startWorker;

/** Stores what the queue has from now on. */
function startWorker({ logger }: Start): Service {
  const started = new AsyncDisposableStack();
  const databaseUrl = 'postgres://simulated';
  const starting = startStoring(
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
  return { stop: () => starting.then(() => started.disposeAsync()) };
}
