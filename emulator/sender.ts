import { MESSAGE_TYPES } from '../src/domain.ts';
import type { Clock } from './clock.ts';
import type { FaultSwitch } from './faults.ts';
import type { Network } from './network.ts';
import type { Outbox, OutgoingDelivery } from './outbox.ts';
import type { Random } from './random.ts';
import { SECRET_HEADERS } from './secret-forms.ts';
import type { EmulatedSecretForm } from './secret-forms.ts';
import type { Tally } from './tally.ts';

interface SenderOptions {
  /** Deliveries a second in total. */
  rate: number;
  secretForm: EmulatedSecretForm;
  network: Network;
  outbox: Outbox;
  faults: FaultSwitch;
  tally: Tally;
  clock: Clock;
  random: Random;
}

/** Lets the network live and sends what happens. */
export interface Sender {
  start(): void;
  /** Deliveries set out and not answered yet. */
  inFlight(): number;
  /** Sets out nothing new; resolves when everything under way was answered or given up. */
  stop(): Promise<void>;
}

const TICK_MS = 20;
const MAX_IN_FLIGHT = 256;
const TIMEOUT_MS = 10_000;

export function createSender(options: SenderOptions): Sender {
  const { rate, secretForm, network, outbox, faults, tally, clock, random } = options;
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();
  let running: Promise<void> | undefined;
  let heldBack: OutgoingDelivery | undefined;

  async function run(): Promise<void> {
    let due = 0;
    let last = clock.now();
    for (;;) {
      await clock.sleep(TICK_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      const now = clock.now();
      // A clock that jumps, or a receiver that hangs, must not be followed by a flood.
      due = Math.min(due + (rate * (now - last)) / 1000, Math.max(rate, 1));
      last = now;
      while (due >= 1 && underWay.size < MAX_IN_FLIGHT) {
        due -= 1;
        turn();
      }
    }
  }

  /** Sends what waits for the next subscription; where nothing does, something has to happen. */
  function turn(): void {
    const next = outbox.next();
    if (next === undefined) {
      network.happen(random.pick(MESSAGE_TYPES));
      return;
    }
    const { subscription, beginsRound } = next;
    if (beginsRound) {
      // What nobody subscribed to happens too, and users log in though audit entries of other kinds abound.
      network.happen(random.pick(MESSAGE_TYPES));
      network.happen('AUDIT_LOG_ALL');
    }
    const waiting = outbox.take(subscription);
    if (waiting === undefined) network.happen(subscription.message_type);
    const delivery = waiting ?? outbox.take(subscription);
    if (delivery !== undefined) setOut(delivery);
  }

  function setOut(delivery: OutgoingDelivery): void {
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
    const tracked = sending.finally(() => underWay.delete(tracked));
    underWay.add(tracked);
  }

  async function sendInOrder(deliveries: readonly OutgoingDelivery[]): Promise<void> {
    const { delay_ms: delay } = faults.current();
    if (delay > 0) await clock.sleep(delay, stopping.signal);
    for (const delivery of deliveries) {
      tally.sent(delivery.messageType);
      tally.answered(delivery.messageType, await post(delivery, secretForm));
    }
  }

  return {
    start() {
      if (rate > 0) running ??= run();
    },
    inFlight: () => underWay.size,
    async stop() {
      stopping.abort();
      await running;
      if (heldBack !== undefined) track(sendInOrder([heldBack]));
      heldBack = undefined;
      await Promise.all(underWay);
    },
  };
}

/** Sends one delivery; its status, or `failed` where no answer came. Follows no redirect: the secret stays with the url. */
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
