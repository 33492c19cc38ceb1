import { createHash } from 'node:crypto';
import express from 'express';
import type { Express } from 'express';
import { LOG_KINDS } from '../src/cloud/contract/logs.ts';
import { createRoutes } from './all-routes.ts';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import { DEFAULT_RATE, DEFAULT_SCALE, DEFAULT_SECRET_FORM, DEFAULT_SEED } from './defaults.ts';
import { createEndUsers } from './end-users.ts';
import { writeDigits } from './exact-json.ts';
import { createFaultSwitch } from './faults.ts';
import type { FaultSwitch } from './faults.ts';
import { handleErrors, unknownAddress } from './handle-errors.ts';
import type { EmulatorLogger } from './handle-errors.ts';
import { hardenAnswers } from './harden-answers.ts';
import { createJournal } from './journal.ts';
import { createListener } from './listener.ts';
import { createNetwork } from './network.ts';
import { describeApi } from './openapi.ts';
import { createOperations, OPERATION_TIMES } from './operations.ts';
import type { OperationTimes } from './operations.ts';
import { createOutbox } from './outbox.ts';
import { createQuota } from './quota.ts';
import { createRandom } from './random.ts';
import type { EmulatedSecretForm } from './secret-forms.ts';
import { createSender } from './sender.ts';
import { serveRoutes } from './serve-routes.ts';
import type { EmulatorStatus } from './status.ts';
import { createSubscriptionStore } from './subscriptions.ts';
import { createTally } from './tally.ts';
import { createTokens } from './tokens.ts';
import { createWorld } from './world.ts';
import type { Scale } from './world.ts';

/** How an emulator is set up; what is left out is as by the constants below. */
export interface EmulatorSetup {
  seed?: number;
  scale?: Scale;
  /** Deliveries a second in total; 0 sends nothing, and nothing happens on the network by itself. */
  rate?: number;
  secretForm?: EmulatedSecretForm;
  clock?: Clock;
  operationTimes?: OperationTimes;
  /** API calls an hour. */
  quota?: number;
  /** Whether the account has the HIQ feature. */
  isHiq?: boolean;
  logger?: EmulatorLogger;
}

/** The quota of the published interface. */
const DEFAULT_QUOTA = 7500;

/** A stand-in for the cloud. */
export interface Emulator {
  app: Express;
  /**
   * Serves the API and begins to send. Port 0 takes a free one. Resolves with the base address; rejects where it
   * cannot listen.
   */
  listen(port: number, host?: string): Promise<string>;
  /** Sets out nothing more, waits for what is under way, stops serving. */
  close(): Promise<void>;
  faults: Pick<FaultSwitch, 'current' | 'change' | 'reset'>;
  status(): EmulatorStatus;
}

/** Creates an emulator, all of whose state is in memory; the same seed and scale give the same world and events. */
export function createEmulator(setup: EmulatorSetup = {}): Emulator {
  const { seed = DEFAULT_SEED, scale = DEFAULT_SCALE, rate = DEFAULT_RATE, clock = systemClock } = setup;
  const { secretForm = DEFAULT_SECRET_FORM, isHiq = true, quota = DEFAULT_QUOTA } = setup;

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
  app.disable('x-powered-by').disable('etag').set('json replacer', writeDigits);
  app.use(hardenAnswers);
  app.get('/openapi.json', (_req, res) => {
    res.json(describeApi(routes));
  });
  app.use(serveRoutes(routes, { tokens, faults, operations, quota: createQuota(quota, clock) }));
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

/** The key tokens are signed with: no secret, for it can be worked out from the seed. */
function signingKey(seed: number): string {
  return createHash('sha256').update(`xiq-emulator ${seed}`).digest('hex');
}
