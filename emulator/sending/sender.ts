import { CLOUD_TYPES } from '../../src/events/domain.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { FaultSwitch } from './faults.ts';
import type { Network } from '../events/network.ts';
import type { Outbox, OutgoingDelivery } from './outbox.ts';
import type { Random } from '../random.ts';
import { SECRET_HEADERS } from './secret-forms.ts';
import type { EmulatedSecretForm } from './secret-forms.ts';
import type { Tally } from './tally.ts';

interface SenderOptions {
  /** Deliveries per second, over all subscriptions. */
  rate: number;
  secretForm: EmulatedSecretForm;
  network: Network;
  outbox: Outbox;
  faults: FaultSwitch;
  tally: Tally;
  clock: Clock;
  random: Random;
}

/** Causes events on the network, and sends them. */
export interface Sender {
  start(): void;
  /** Deliveries sent and not answered yet. */
  inFlight(): number;
  /** Starts no further delivery. Resolves when all deliveries in flight are answered or have timed out. */
  stop(): Promise<void>;
}

const TICK_MS = 20;
const MAX_IN_FLIGHT = 256;
const TIMEOUT_MS = 10_000;

/** Creates a stopped sender. */
export function createSender(options: SenderOptions): Sender {
  const { rate, secretForm, network, outbox, faults, tally, clock, random } = options;
  const stopping = new AbortController();
  const inFlight = new Set<Promise<void>>();
  let running: Promise<void> | undefined;
  let heldBack: OutgoingDelivery | undefined;

  async function run(): Promise<void> {
    let due = 0;
    let last = clock.now();
    while (await pause(TICK_MS)) {
      const now = clock.now();
      // A clock that jumps, or a receiver that hangs, must not cause a flood.
      due = Math.min(due + (rate * (now - last)) / 1000, Math.max(rate, 1));
      last = now;
      while (due >= 1 && inFlight.size < MAX_IN_FLIGHT) {
        due -= 1;
        turn();
      }
    }
  }

  /** Waits on the clock. False, at once, when the sender stops. */
  async function pause(ms: number): Promise<boolean> {
    try {
      await clock.sleep(ms, stopping.signal);
    } catch (error) {
      if (!stopping.signal.aborted) throw error;
    }
    return !stopping.signal.aborted;
  }

  /** Sends the records that wait for the next subscription. If there are none, causes an event. */
  function turn(): void {
    const next = outbox.next();
    if (next === undefined) {
      network.happen(random.pick(CLOUD_TYPES));
      return;
    }
    const { target, beginsRound } = next;
    if (beginsRound) {
      // Events happen without subscribers too, and users log in whatever else fills the audit log.
      network.happen(random.pick(CLOUD_TYPES));
      network.happen('AUDIT_LOG_ALL');
    }
    const waiting = outbox.take(target);
    if (waiting === undefined) network.happen(target.messageType);
    const delivery = waiting ?? outbox.take(target);
    if (delivery !== undefined) dispatch(delivery);
  }

  function dispatch(delivery: OutgoingDelivery): void {
    const { lose, repeat, reorder } = faults.current();
    tally.begun(delivery.messageType, delivery.records);
    if (random.chance(lose)) {
      tally.lost(delivery.messageType);
      return;
    }
    if (heldBack === undefined && random.chance(reorder)) {
      heldBack = delivery;
      return;
    }
    const copies = random.chance(repeat) ? [delivery, delivery] : [delivery];
    const late = heldBack === undefined ? [] : [heldBack];
    heldBack = undefined;
    track(sendInOrder([...copies, ...late]));
  }

  function track(sending: Promise<void>): void {
    const tracked = sending.finally(() => inFlight.delete(tracked));
    inFlight.add(tracked);
  }

  async function sendInOrder(deliveries: readonly OutgoingDelivery[]): Promise<void> {
    const { delay_ms: delay } = faults.current();
    if (delay > 0) await pause(delay);
    for (const delivery of deliveries) {
      tally.sent(delivery.messageType);
      tally.answered(delivery.messageType, await post(delivery, secretForm));
    }
  }

  return {
    start() {
      if (rate > 0) running ??= run();
    },
    inFlight: () => inFlight.size,
    async stop() {
      stopping.abort();
      await running;
      if (heldBack !== undefined) track(sendInOrder([heldBack]));
      heldBack = undefined;
      await Promise.all(inFlight);
    },
  };
}

/** Sends one delivery; returns the HTTP status, or `failed` without an answer. Redirects could leak the secret. */
async function post(delivery: OutgoingDelivery, form: EmulatedSecretForm): Promise<number | 'failed'> {
  const { url, secret, body } = delivery;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'user-agent': 'xiq-emulator',
        ...SECRET_HEADERS[form](secret, body),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 'failed';
  }
}
