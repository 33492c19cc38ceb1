import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { systemClock, type Clock } from '../lib/clock.ts';
import { OWN_TYPES } from '../events/domain.ts';
import type { Config, SourceConfig } from '../config/config.ts';
import type { FollowSettings } from '../config/follow-settings.ts';
import type { Db } from '../store/server/database.ts';
import { createSubscribers, type Subscriber } from './subscriber.ts';
import { repeat, type Repetition } from '../lib/repeat.ts';
import { closeLogged } from '../lib/close-logged.ts';
import { createRecordStore } from '../handlers/store-batch.ts';
import { describeError } from '../lib/errors.ts';
import { logOut } from '../cloud/client.ts';
import { changesOf, describeChange, messageTypeOf, type Change } from './plan.ts';
import { followGaps, type SuspectedGap } from '../store/reconcile/gaps.ts';
import { commandName } from '../lib/text/command-name.ts';

interface WatchNeeds {
  readonly db: Db;
  readonly config: Pick<Config, 'sources' | 'publicUrl' | 'subscribe' | 'erasureKeyFile'>;
  readonly follow: FollowSettings;
  /** Whether the sources of the database are known. */
  readonly knowsStored: () => boolean;
  readonly allNames: () => readonly string[];
  /** Called after each check of a source, with how many changes its subscriptions need. */
  readonly onChecked: (source: string, changes: number) => void;
  readonly logger: Logger;
}

/** Every process accepts a new secret after so long, and the cloud may get it: it sends with it at once. */
const SETTLE_MS = 2_000;

/** Watches the subscriptions of the sources that have an API. Started last: the cloud begins to send then. */
export async function startSubscriptionWatch(
  { db, config, follow, knowsStored, allNames, onChecked, logger }: WatchNeeds,
  opened: AsyncDisposableStack,
): Promise<void> {
  const { publicUrl } = config;
  let watched: readonly SourceConfig[] | undefined;
  let watch: Repetition | undefined;
  const oneAtATime = pLimit(1);
  const stopping = new AbortController();
  const store = createRecordStore(db, logger, stopping.signal, config);
  const recordGaps = createGapRecorder(db, logger, (source, begun) =>
    store({
      source,
      messageType: 'OTHER',
      sentType: OWN_TYPES.subscription,
      origin: 'xiq-sink',
      records: begun.map(({ messageType, reason, detail }) => ({
        timeStamp: Date.now(),
        description: `The subscription of ${source} for ${messageType} is ${reason === 'subscription off' ? 'off' : 'changed'}`,
        messageType,
        ...detail,
      })),
    }),
  );

  async function apply(delayMs: number): Promise<void> {
    const { sources } = config;
    // Subscriptions of sources that are not known yet would count as surplus.
    if (!knowsStored() || isDeepStrictEqual(sources, watched)) return;
    await watch?.stop();
    watch = undefined;
    watched = sources;
    if (sources.every(({ cloud }) => cloud === undefined)) return;
    if (publicUrl === undefined) {
      logger.debug('PUBLIC_URL is not set: the subscriptions in the cloud are not checked');
      return;
    }
    watch = watchSubscriptions({
      subscribers: createSubscribers({ sources, allNames: allNames(), publicUrl, db, logger }),
      repairs: config.subscribe === 'auto',
      logger,
      clock: systemClock,
      delayMs,
      onChecked(source, changes) {
        onChecked(source, changes.length);
        return recordGaps(source, changes);
      },
    });
  }

  await apply(0);
  const stop = async () => {
    // A check may wait for the database to store what it found.
    stopping.abort();
    await oneAtATime(async () => watch?.stop());
  };
  opened.defer(closeLogged(logger, 'subscription watch', stop));
  opened.defer(follow('subscriptions', () => oneAtATime(apply, SETTLE_MS)));
}

const INTERVAL_MS = 10 * 60 * 1000;

interface WatchOptions {
  readonly subscribers: readonly Subscriber[];
  readonly repairs: boolean;
  readonly logger: Logger;
  readonly clock: Clock;
  /** The first check begins after so long. Default: now. */
  readonly delayMs?: number;
  /** Called after each check with the changes that the subscriptions of a source need. It must not reject. */
  readonly onChecked?: ((source: string, changes: readonly Change[]) => Promise<void>) | undefined;
}

/**
 * Compares the subscriptions of each source with the settings, now and every ten minutes, and logs every difference.
 * Failures are logged, and the next check tries again. A stop aborts the current check and logs out.
 */
export function watchSubscriptions(options: WatchOptions): Repetition {
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
      const remedy = repairs ? 'repairing' : `run "${commandName()} subscribe apply", or set SUBSCRIBE=auto`;
      const differences = changes.map(describeChange);
      logger.warn({ source, differences }, `the subscriptions differ from the settings: ${remedy}`);
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

  const checking = repeat({
    pauseMs: INTERVAL_MS,
    delayMs,
    clock,
    stopping,
    work: async () => void (await Promise.all(subscribers.map(check))),
    onError: (error) => logger.error({ err: error }, 'the subscriptions were not checked'),
  });
  return {
    async stop() {
      await checking.stop();
      await logOut(subscribers);
    },
  };
}

/**
 * Creates a function to call after each check of the subscriptions of a source. It records since when a subscription is
 * off, or sends elsewhere or with another secret: since the check before, or else since the last delivery. `onBegun`
 * receives what the check before did not find.
 */
export function createGapRecorder(
  db: Db,
  logger: Logger,
  onBegun: (source: string, begun: readonly SuspectedGap[]) => Promise<void> = async () => undefined,
): (source: string, changes: readonly Change[]) => Promise<void> {
  const checkedAt = new Map<string, Date>();
  return async (source, changes) => {
    const now = new Date();
    const since = checkedAt.get(source);
    const suspected = changes.flatMap((change) => {
      const gap = suspectedGapOf(change);
      return gap === undefined ? [] : [{ ...gap, source, messageType: messageTypeOf(change), since }];
    });
    try {
      const reasons = ['subscription off', 'subscription changed'] as const;
      await followGaps(db, { source, reasons }, suspected, now, (begun) => onBegun(source, begun));
      checkedAt.set(source, now);
    } catch (error) {
      logger.warn({ source, err: error }, `can't record the state of subscriptions: ${describeError(error)}`);
    }
  };
}

/** Why deliveries may have been lost before this change; undefined if the subscription delivered. */
function suspectedGapOf(change: Change): Pick<SuspectedGap, 'reason' | 'detail'> | undefined {
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
