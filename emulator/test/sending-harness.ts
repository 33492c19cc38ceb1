import { expect, vi } from 'vitest';
import { WEBHOOK_TYPES } from '../../src/events/domain.ts';
import type { EmulatorSetup } from '../emulator.ts';
import type { Received } from './harness.ts';
import { manualClock, startEmulator, startReceiver, subscriptionsTo } from './harness.ts';

/** An emulator whose clock is moved by hand, subscribed to all nine types at one receiver. */
export async function setUp(
  setup: EmulatorSetup = {},
  secret = 'secret',
  types: readonly string[] = WEBHOOK_TYPES,
) {
  const clock = manualClock();
  const receiver = await startReceiver();
  const started = await startEmulator({ clock, rate: 10, ...setup });
  const body = subscriptionsTo(receiver.url, secret, types);
  const answer = await started.call('POST', '/subscriptions/webhook', { body });
  expect(answer.status).toBe(200);
  return { ...started, clock, receiver };
}

/** The message type of a delivery, which its path names. */
export function typeOf({ path }: Received): string {
  return path.slice(1);
}

/** Lets some time go by and waits until everything sent in it was answered. */
export async function live(
  { clock, emulator }: Awaited<ReturnType<typeof setUp>>,
  ms: number,
): Promise<void> {
  await clock.advance(ms);
  await vi.waitFor(() => {
    expect(emulator.status().in_flight).toBe(0);
  });
}
