/** The worker of one life of a process. */
import type { Logger } from 'pino';
import { DEFAULT_LIMITS } from '../../../src/forward/batch-events.ts';
import { destinationFilterSchema } from '../../../src/forward/destination-filter.ts';
import type { Destination } from '../../../src/forward/parse-destinations.ts';
import { BatchRefusedError, type Message, type Refusal } from '../../../src/forward/sender.ts';
import { startForwardings } from '../../../src/forward/start-forwardings.ts';
import { OutageError } from '../../../src/lib/errors.ts';
import { repeatInBackground } from '../../../src/lib/repeat.ts';
import { createSealer } from '../../../src/seal/sealer.ts';
import { startSequencing } from '../../../src/seal/sequencer.ts';
import { parseVerifier } from '../../../src/seal/signed-note.ts';
import { startStoring } from '../../../src/handlers/start-storing.ts';
import { UNOBSERVED } from '../../../src/queue/delivery-observer.ts';
import { openLimited, openPartDatabase } from '../../../src/store/server/database.ts';
import { DESTINATIONS } from '../receivers.ts';
import { SEAL_KEY } from '../seal-statements.ts';
import type { Setup } from '../set-up.ts';
import { startingProcess, type Service, type Start } from '../simulated-process.ts';

const self = startingProcess();
self.begin = startWorker;
const { receivers } = self.surroundings;

/** Of the forwarder. */
const RETRY_MS = 1_000;

/** Of `startProving`. */
const SEAL_MS = 2_000;

const TRUST = { keys: [parseVerifier(SEAL_KEY.publicText)], seen: undefined, witnesses: [] };

/** One way to a destination, in milliseconds, at least. */
const WAY_MS = 100;

/** Stores what the queue has from now on. */
function startWorker({ setup, logger }: Start): Service {
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
  const following = setup.forwards ? starting.then(() => startFollowing(setup, logger, started)) : starting;
  return { stop: () => following.then(() => started.disposeAsync()) };
}

/** Extends the log, seals it, and forwards from it. */
async function startFollowing(
  { batchEvents }: Setup,
  logger: Logger,
  started: AsyncDisposableStack,
): Promise<void> {
  const parts = { databaseUrl: 'postgres://simulated', logger };
  startSequencing(openPartDatabase('the log', 'log', parts, started), logger, started);
  const sealer = createSealer(
    openPartDatabase('the seal', 'sealing', parts, started),
    SEAL_KEY,
    async () => TRUST,
  );
  const sealing = { part: 'sealer', failure: 'the log was not sealed', pauseMs: SEAL_MS };
  repeatInBackground({ ...sealing, work: () => sealer.seal() }, logger, started);
  const db = openPartDatabase('the forwarder', 'forwarding', parts, started);
  const destinations = DESTINATIONS.map((name) => destinationOf(name, batchEvents));
  const observer = { sent: () => undefined, failed: () => undefined };
  const options = { db, config: { destinations }, follow: () => () => undefined, observer, logger };
  while (self.isAlive && !started.disposed) {
    try {
      return await startForwardings(options, started);
    } catch {
      await new Promise<void>((resolve) => self.after(RETRY_MS, resolve));
    }
  }
}

const destinationOf = (name: string, events: number): Destination => ({
  name,
  type: 'https',
  origin: 'settings',
  formatName: 'json',
  fingerprint: name,
  filter: destinationFilterSchema.parse({}),
  limits: { ...DEFAULT_LIMITS, events },
  format: ({ eventId }) => eventId,
  createSender: () => ({ send: (batch) => send(name, batch), close: async () => undefined }),
});

async function send(name: string, batch: readonly Message[]): Promise<readonly Refusal[]> {
  const way = WAY_MS * receivers.slowness * (1 + 20 * self.nextRandom() ** 8);
  const received = batch.map(({ event: { position = 0, eventId } }) => ({ position, eventId }));
  const reception = await self.ask(way, () => receivers.receive(name, self.name, received));
  if (reception === 'out of order') throw new OutageError('connection reset');
  if (reception === 'refused as a whole') throw new BatchRefusedError('no');
  return reception.map((index) => ({ index, reason: 'no' }));
}
