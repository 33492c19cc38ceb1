import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import express from 'express';
import type { Express } from 'express';
import { systemClock } from '../src/lib/clock.ts';
import type { Clock } from '../src/lib/clock.ts';
import { LOG_KINDS } from '../src/cloud/contract/logs.ts';
import { createTokens } from './access/tokens.ts';
import { DEFAULTS } from './command-options.ts';
import { createEndUsers } from './events/end-users.ts';
import { createJournal } from './events/journal.ts';
import type { CloudType } from '../src/events/domain.ts';
import type { Lateness } from './events/journal.ts';
import { createNetwork } from './events/network.ts';
import type { Dialect } from './dialects.ts';
import { handleErrors, unknownAddress } from './http/errors.ts';
import type { EmulatorLogger } from './http/errors.ts';
import { describeApi } from './http/openapi.ts';
import { createOperations, OPERATION_TIMES } from './http/operations.ts';
import type { OperationTimes } from './http/operations.ts';
import { hardenAnswers, serveRoutes } from './http/serve-routes.ts';
import { createRandom } from './random.ts';
import type { Random } from './random.ts';
import { createRoutes } from './routes/all-routes.ts';
import type { EmulatorStatus } from './routes/control.ts';
import { createAlertSubscriptionStore } from './sending/alert-subscriptions.ts';
import { createFaultSwitch } from './sending/faults.ts';
import type { FaultSwitch } from './sending/faults.ts';
import { createOutbox } from './sending/outbox.ts';
import type { EmulatedSecretForm } from './sending/secret-forms.ts';
import { createSender } from './sending/sender.ts';
import { createSubscriptionStore } from './sending/subscriptions.ts';
import { createTally } from './sending/tally.ts';
import type { Scale } from './world/seeding.ts';
import { createWorld } from './world/world.ts';

/** The setup of an emulator. Members that are left out have their defaults. */
export interface EmulatorSetup {
  seed?: number;
  scale?: Scale;
  /** Deliveries per second over all subscriptions. 0 sends nothing and stops all activity on the network. */
  rate?: number;
  secretForm?: EmulatedSecretForm;
  dialect?: Dialect;
  clock?: Clock;
  operationTimes?: OperationTimes;
  /** API calls per hour. */
  quota?: number;
  /** Whether the account has the HIQ feature. */
  isHiq?: boolean;
  logger?: EmulatorLogger;
}

/** The quota of the published interface. */
const DEFAULT_QUOTA = 7500;

/** A stand-in for the cloud: REST API and webhooks. */
export interface Emulator {
  app: Express;
  /** Serves the API and starts to send. Port 0 means any free port. Resolves with the base address. */
  listen(port: number, host?: string): Promise<string>;
  /** Stops to send, waits for the deliveries in flight, stops to serve. */
  close(): Promise<void>;
  faults: Pick<FaultSwitch, 'current' | 'change' | 'reset'>;
  status(): EmulatorStatus;
  /** Causes events at once, whatever the rate. They wait for the next deliveries, and `/logs` lists them. */
  happen(type: CloudType, count?: number): void;
}

/** Creates an emulator with all its state in memory. The same seed and scale give the same world and events. */
export function createEmulator(setup: EmulatorSetup = {}): Emulator {
  const { seed, scale, rate, secretForm, dialect } = { ...DEFAULTS, ...setup };
  const { clock = systemClock, isHiq = true, quota = DEFAULT_QUOTA } = setup;

  const world = createWorld(seed, scale, clock);
  const faults = createFaultSwitch();
  const journal = createJournal({ clock, lateness: latenessOf(faults, createRandom(seed, 'lateness')) });
  const tally = createTally();
  const subscriptions = createSubscriptionStore(world, clock);
  const alertSubscriptions = createAlertSubscriptionStore(world, clock);
  const operations = createOperations(clock, setup.operationTimes ?? OPERATION_TIMES);
  const tokens = createTokens(world, clock, signingKey(seed));
  const random = createRandom(seed, 'network');
  const endUsers = createEndUsers({ world, journal, clock, random });
  const alike = () => faults.current().alike;
  const network = createNetwork({ world, journal, clock, random, endUsers, users: scale.users, alike });
  const targets = () => [...subscriptions.targets(), ...alertSubscriptions.targets()];
  const outbox = createOutbox(targets, journal, createRandom(seed, 'outbox'));
  const chance = createRandom(seed, 'faults');
  const sender = createSender({ rate, secretForm, network, outbox, faults, tally, clock, random: chance });

  function status(): EmulatorStatus {
    const enabled = targets().filter(({ isEnabled }) => isEnabled).length;
    return {
      seed,
      rate,
      secret_form: secretForm,
      dialect,
      in_flight: sender.inFlight(),
      subscriptions: { enabled, disabled: targets().length - enabled },
      sent: tally.counts(),
      logs: Object.fromEntries(
        [...LOG_KINDS, 'alert' as const].map((kind) => [kind, journal.list(kind).length]),
      ),
      faults: faults.current(),
    };
  }

  const routes = createRoutes({
    world,
    clock,
    journal,
    tokens,
    operations,
    subscriptions,
    alertSubscriptions,
    dialect,
    endUsers,
    faults,
    isHiq,
    happen: (type) => network.happen(type),
    status,
  });

  const app = express();
  app.disable('x-powered-by').disable('etag');
  app.use(hardenAnswers);
  app.get('/openapi.json', (_req, res) => {
    res.json(describeApi(routes));
  });
  app.use(serveRoutes(routes, { tokens, faults, operations, clock, quota }));
  app.use(unknownAddress, handleErrors(setup.logger));
  const listener = createListener(app);

  return {
    app,
    async listen(port, host = '127.0.0.1') {
      const address = await listener.listen(port, host);
      sender.start();
      return address;
    },
    async close() {
      await sender.stop();
      await listener.close();
    },
    faults,
    happen(type, count = 1) {
      for (let caused = 0; caused < count; caused += 1) network.happen(type);
    },
    status,
  };
}

/** The lateness of each log record under the present faults. */
function latenessOf(faults: FaultSwitch, random: Random): () => Lateness {
  return () => {
    const { log_delay_ms: delay, log_skew_ms: skew, status_delay_ms: settleMs } = faults.current();
    return { delayMs: random.int(0, delay), skewMs: random.int(-skew, skew), settleMs };
  };
}

/** The key that signs tokens. It is not secret: it can be derived from the seed. */
function signingKey(seed: number): string {
  return createHash('sha256').update(`xiq-emulator ${seed}`).digest('hex');
}

/** An HTTP server that starts once and stops once. */
interface Listener {
  /** Resolves with the base address. Rejects if the port is not available. */
  listen(port: number, host: string): Promise<string>;
  close(): Promise<void>;
}

function createListener(app: RequestListener): Listener {
  const server = createServer(app);
  return {
    async listen(port, host) {
      server.listen(port, host);
      try {
        await once(server, 'listening');
      } catch (error) {
        throw new Error(`The emulator cannot listen on ${host}:${port}. Choose another port or host`, {
          cause: error,
        });
      }
      return baseAddress(server, host);
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function baseAddress(server: Server, host: string): string {
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
