import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import express from 'express';
import type { Express } from 'express';
import { systemClock } from '../src/clock.ts';
import type { Clock } from '../src/clock.ts';
import { LOG_KINDS } from '../src/cloud/contract/logs.ts';
import { createTokens } from './access/tokens.ts';
import { DEFAULTS } from './command-options.ts';
import { createEndUsers } from './events/end-users.ts';
import { createJournal } from './events/journal.ts';
import { createNetwork } from './events/network.ts';
import { handleErrors, unknownAddress } from './http/errors.ts';
import type { EmulatorLogger } from './http/errors.ts';
import { describeApi } from './http/openapi.ts';
import { createOperations, OPERATION_TIMES } from './http/operations.ts';
import type { OperationTimes } from './http/operations.ts';
import { hardenAnswers, serveRoutes } from './http/serve-routes.ts';
import { createRandom } from './random.ts';
import { createRoutes } from './routes/all-routes.ts';
import type { EmulatorStatus } from './routes/control.ts';
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
}

/** Creates an emulator with all its state in memory. The same seed and scale give the same world and events. */
export function createEmulator(setup: EmulatorSetup = {}): Emulator {
  const { seed, scale, rate, secretForm } = { ...DEFAULTS, ...setup };
  const { clock = systemClock, isHiq = true, quota = DEFAULT_QUOTA } = setup;

  const world = createWorld(seed, scale, clock);
  const journal = createJournal();
  const faults = createFaultSwitch();
  const tally = createTally();
  const subscriptions = createSubscriptionStore(world, clock);
  const operations = createOperations(clock, setup.operationTimes ?? OPERATION_TIMES);
  const tokens = createTokens(world, clock, signingKey(seed));
  const random = createRandom(seed, 'network');
  const endUsers = createEndUsers({ world, journal, clock, random });
  const network = createNetwork({ world, journal, clock, random, endUsers, users: scale.users });
  const outbox = createOutbox(subscriptions, journal, createRandom(seed, 'outbox'));
  const chance = createRandom(seed, 'faults');
  const sender = createSender({ rate, secretForm, network, outbox, faults, tally, clock, random: chance });

  function status(): EmulatorStatus {
    const enabled = subscriptions.list().filter((subscription) => subscription.status === 'ENABLED').length;
    return {
      seed,
      rate,
      secret_form: secretForm,
      in_flight: sender.inFlight(),
      subscriptions: { enabled, disabled: subscriptions.list().length - enabled },
      sent: tally.counts(),
      logs: Object.fromEntries(LOG_KINDS.map((kind) => [kind, journal.list(kind).length])),
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
    endUsers,
    faults,
    isHiq,
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
    status,
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
