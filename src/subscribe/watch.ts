import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { describeError } from '../errors.ts';
import { logOut } from './log-out.ts';
import { changesOf, messageTypeOf } from './plan.ts';
import type { Change } from './plan.ts';
import type { Subscriber } from './subscriber.ts';

/** The time between two looks at the cloud. */
const INTERVAL_MS = 10 * 60 * 1000;

interface WatchOptions {
  readonly subscribers: readonly Subscriber[];
  /** Whether a difference is repaired; it is reported in any case. */
  readonly repairs: boolean;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Is told after each look how many changes would bring the subscriptions of a source in order. */
  readonly onChecked?: ((source: string, changes: number) => void) | undefined;
}

/** A watch under way. */
export interface SubscriptionWatch {
  /** Breaks off what is under way, and logs out. */
  stop(): Promise<void>;
}

/**
 * Compares the subscriptions of each source with the settings, now and then every ten minutes, and tells the log of
 * every difference. Whatever goes wrong is logged and tried again the next time.
 */
export function watchSubscriptions({
  subscribers,
  repairs,
  logger,
  clock,
  onChecked,
}: WatchOptions): SubscriptionWatch {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function check(subscriber: Subscriber): Promise<void> {
    const { source } = subscriber;
    try {
      const changes = changesOf((await subscriber.plan('subscribed', signal)).steps);
      onChecked?.(source, changes.length);
      if (changes.length === 0) {
        logger.debug({ source }, 'the subscriptions are as they should be');
        return;
      }
      const remedy = repairs
        ? 'repairing them'
        : '"xiq-sink subscribe apply" repairs them, or SUBSCRIBE=auto';
      logger.warn({ source, ...summarise(changes) }, `subscriptions are not as they should be: ${remedy}`);
      if (repairs) await repair(subscriber);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ source, err: error }, `the subscriptions were not checked: ${describeError(error)}`);
    }
  }

  async function repair(subscriber: Subscriber): Promise<void> {
    const { source } = subscriber;
    const { unfinished } = await subscriber.apply('subscribed', { signal });
    onChecked?.(source, unfinished.length);
    for (const { change, reason } of unfinished) {
      logger.warn(
        { source, messageType: messageTypeOf(change), action: change.action, reason },
        'not repaired',
      );
    }
    if (unfinished.length === 0) logger.info({ source }, 'the subscriptions were repaired');
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await Promise.all(subscribers.map(check));
      await clock.sleep(INTERVAL_MS, signal).catch(() => undefined);
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
      await logOut(subscribers);
    },
  };
}

/** What differs, by what would be done about it; never a secret. */
function summarise(changes: readonly Change[]): Record<string, readonly string[]> {
  return Object.fromEntries(
    Object.entries(Object.groupBy(changes, ({ action }) => action)).map(([action, ofAction]) => [
      action,
      ofAction.map(describe),
    ]),
  );
}

function describe(change: Change): string {
  const messageType = messageTypeOf(change);
  switch (change.action) {
    case 'create':
      return messageType;
    case 'update':
      return `${messageType}: ${change.differences.map(({ member }) => member).join(', ')}`;
    case 'delete':
      return `${messageType}: ${change.reason}`;
  }
}
