/** The ingest side of one life of a process, put together as `src/serve/start-service.ts` does, without sockets. */
import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { Admission } from '../../../src/ingest/admission.ts';
import { createFailedSecrets } from '../../../src/ingest/failed-secrets.ts';
import { startStoring } from '../../../src/handlers/start-storing.ts';
import { receiveDelivery, type Receipt } from '../../../src/ingest/receive-delivery.ts';
import { SecretVerifier } from '../../../src/ingest/verify-secret.ts';
import type { QueuedDelivery } from '../../../src/queue/delivery-batch.ts';
import { UNOBSERVED } from '../../../src/queue/delivery-observer.ts';
import { openFairQueue } from '../../../src/queue/fair-queue.ts';
import { locateDeliveries } from '../../../src/store/deliveries/deliveries.ts';
import { openLimited } from '../../../src/store/server/database.ts';
import { startingProcess, type Service, type Start } from '../simulated-process.ts';

startingProcess().begin = startIngest;

/** Accepts deliveries from now on. */
function startIngest({ setup, dataDir, onEnqueue, logger }: Start): Required<Service> {
  const { sources, isStrict, keepMs, spoolBytes, maxBytesInFlight, storesItself } = setup;
  const databaseUrl = 'postgres://simulated';
  const queueLocation = { kind: 'redis', url: 'redis://simulated' } as const;
  const db = isStrict || storesItself ? openLimited('storing', databaseUrl, () => undefined) : undefined;
  const observer = {
    ...UNOBSERVED,
    enqueue<T>(delivery: QueuedDelivery, work: () => Promise<T>): Promise<T> {
      onEnqueue(delivery);
      return work();
    },
  };
  const queue = openFairQueue({
    location: queueLocation,
    countSources: () => sources.length,
    spool: { directory: path.join(dataDir, 'spool'), maxBytes: spoolBytes, minFreeBytes: 1024 * 1024 },
    findStored: db && isStrict ? (ids: readonly string[]) => locateDeliveries(db, ids, 0) : undefined,
    keepMs,
    observer,
    logger,
  });
  const storing = new AsyncDisposableStack();
  const starting =
    db &&
    storesItself &&
    startStoring(
      {
        config: { erasureKeyFile: '/none' },
        databaseUrl,
        db,
        queueLocation,
        observation: { deliveries: UNOBSERVED, addPool: () => undefined },
        logger,
      },
      storing,
    ).then((worker) => queue.handTo(worker));
  const maxBodyBytes = 1024 * 1024;
  const admission = new Admission({ maxBytesInFlight, maxBodyBytes, logger });
  const options = {
    verifier: new SecretVerifier(sources.map((name) => ({ name, secrets: [name] }))),
    knowsSources: () => true,
    failedSecrets: createFailedSecrets(),
    queue,
    maxBodyBytes,
    observer,
  };
  return {
    async receive(request: IncomingMessage, source: string): Promise<Receipt> {
      const reservation = admission.begin(source);
      const addressed = {
        source,
        messageType: 'AUDIT_LOG_ALL',
        remoteAddress: '192.0.2.1',
        isProven: false,
      } as const;
      try {
        return await receiveDelivery(request, { ...addressed, sentType: undefined }, reservation, options);
      } finally {
        reservation.release();
      }
    },
    async stop(): Promise<void> {
      await queue.close();
      await starting;
      await storing.disposeAsync();
      await db?.destroy();
    },
  };
}
