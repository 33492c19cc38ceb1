import type { Logger } from 'pino';
import type { Clock } from '../clock.ts';
import { describeError } from '../errors.ts';
import { logOut, type Subscriber } from './subscriber.ts';
import { changesOf, messageTypeOf, type Change } from './plan.ts';
import type { Db } from '../store/database.ts';
import { followGaps, type Doubt } from '../store/gaps.ts';

/** The time between two checks. */
const INTERVAL_MS = 10 * 60 * 1000;

interface WatchOptions {
  readonly subscribers: readonly Subscriber[];
  /** Whether differences are repaired. They are logged in any case. */
  readonly repairs: boolean;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The first check begins after so long. Default: now. */
  readonly delayMs?: number;
  /** Called after each check with the changes that the subscriptions of a source need. It must not reject. */
  readonly onChecked?: ((source: string, changes: readonly Change[]) => Promise<void>) | undefined;
}

/** A running watch. */
export interface SubscriptionWatch {
  /** Aborts the current check and logs out. */
  stop(): Promise<void>;
}

/**
 * Compares the subscriptions of each source with the settings, now and every ten minutes, and logs every difference.
 * Failures are logged, and the next check tries again.
 */
export function watchSubscriptions(options: WatchOptions): SubscriptionWatch {
  const { subscribers, repairs, logger, clock, delayMs = 0, onChecked } = options;
  const stopping = new AbortController();
  const { signal } = stopping;

  async function check(subscriber: Subscriber): Promise<void> {
    const { source } = subscriber;
    try {
      const changes = changesOf((await subscriber.plan('subscribed', signal)).steps);
      await onChecked?.(source, changes);
      if (changes.length === 0) {
        logger.debug({ source }, 'the subscriptions match the settings');
        return;
      }
      const remedy = repairs ? 'repairing' : 'run "xiq-sink subscribe apply", or set SUBSCRIBE=auto';
      logger.warn({ source, ...summarise(changes) }, `the subscriptions differ from the settings: ${remedy}`);
      if (repairs) await repair(subscriber);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn({ source, err: error }, `can't check the subscriptions: ${describeError(error)}`);
    }
  }

  async function repair(subscriber: Subscriber): Promise<void> {
    const { source } = subscriber;
    const { unfinished } = await subscriber.apply('subscribed', { signal });
    await onChecked?.(
      source,
      unfinished.map(({ change }) => change),
    );
    for (const { change, reason } of unfinished) {
      logger.warn(
        { source, messageType: messageTypeOf(change), action: change.action, reason },
        'subscription not repaired',
      );
    }
    if (unfinished.length === 0) logger.info({ source }, 'subscriptions repaired');
  }

  async function run(): Promise<void> {
    if (delayMs > 0) await clock.sleep(delayMs, signal).catch(() => undefined);
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

/** The differences by the action that they need, without secrets. */
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

/**
 * Creates a function to call after each check of the subscriptions of a source. It records since when a subscription is
 * off, or sends elsewhere or with another secret: since the check before, or else since the last delivery. `onBegun`
 * receives what the check before did not find.
 */
export function createDoubtRecorder(
  db: Db,
  logger: Logger,
  onBegun: (source: string, begun: readonly Doubt[]) => Promise<void> = async () => undefined,
): (source: string, changes: readonly Change[]) => Promise<void> {
  const checkedAt = new Map<string, Date>();
  return async (source, changes) => {
    const now = new Date();
    const since = checkedAt.get(source);
    const doubts = changes.flatMap((change) => {
      const doubt = doubtOf(change);
      return doubt === undefined ? [] : [{ ...doubt, source, messageType: messageTypeOf(change), since }];
    });
    try {
      const reasons = ['subscription off', 'subscription changed'] as const;
      await followGaps(db, { source, reasons }, doubts, now, (begun) => onBegun(source, begun));
      checkedAt.set(source, now);
    } catch (error) {
      logger.warn({ source, err: error }, `can't record the state of subscriptions: ${describeError(error)}`);
    }
  };
}

/** Why deliveries may have been lost before this change; undefined if the subscription delivered. */
function doubtOf(change: Change): Pick<Doubt, 'reason' | 'detail'> | undefined {
  switch (change.action) {
    case 'create':
      return { reason: 'subscription off', detail: { status: 'missing' } };
    case 'update': {
      const members = change.differences.map(({ member }) => member);
      if (members.includes('status')) {
        return { reason: 'subscription off', detail: { status: change.actual.status } };
      }
      const changed = members.filter((member) => member !== 'application');
      return changed.length === 0 ? undefined : { reason: 'subscription changed', detail: { changed } };
    }
    case 'delete':
      return undefined;
  }
}
