import { isDeepStrictEqual } from 'node:util';
import pLimit from 'p-limit';
import type { Logger } from 'pino';
import { systemClock } from '../clock.ts';
import { OWN_TYPES } from '../domain.ts';
import type { SourceConfig } from '../config.ts';
import type { Db } from '../store/database.ts';
import { createSubscribers } from '../subscribe/subscriber.ts';
import { createDoubtRecorder, watchSubscriptions, type SubscriptionWatch } from '../subscribe/watch.ts';
import { closing } from './closing.ts';
import { createRecordStore } from './store-records.ts';
import type { LiveSettings } from './live-settings.ts';
import type { Observation } from './observation.ts';

interface WatchNeeds {
  readonly live: LiveSettings;
  readonly db: Db;
  readonly observation: Observation;
  readonly logger: Logger;
}

/** Every process accepts a new secret after so long, and the cloud may get it: it sends with it at once. */
const SETTLE_MS = 2_000;

/** Watches the subscriptions of the sources that have an API. Started last: the cloud begins to send then. */
export async function startSubscriptionWatch(
  { live, db, observation, logger }: WatchNeeds,
  opened: AsyncDisposableStack,
): Promise<void> {
  const { config } = live;
  const { publicUrl } = config;
  let watched: readonly SourceConfig[] | undefined;
  let watch: SubscriptionWatch | undefined;
  const oneAtATime = pLimit(1);
  const store = createRecordStore(db, logger, new AbortController().signal, config);
  const recordDoubts = createDoubtRecorder(db, logger, (source, begun) =>
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
    if (!live.knowsStored() || isDeepStrictEqual(sources, watched)) return;
    await watch?.stop();
    watch = undefined;
    watched = sources;
    if (sources.every(({ cloud }) => cloud === undefined)) return;
    if (publicUrl === undefined) {
      logger.info('PUBLIC_URL is not set: the subscriptions in the cloud are not checked');
      return;
    }
    watch = watchSubscriptions({
      subscribers: createSubscribers({ sources, allNames: live.names(), publicUrl, db, logger }),
      repairs: config.subscribe === 'auto',
      logger,
      clock: systemClock,
      delayMs,
      onChecked(source, changes) {
        observation.onSubscriptionsChecked(source, changes.length);
        return recordDoubts(source, changes);
      },
    });
  }

  await apply(0);
  opened.defer(closing(logger, 'subscription watch', () => oneAtATime(async () => watch?.stop())));
  opened.defer(live.follow('subscriptions', () => oneAtATime(apply, SETTLE_MS)));
}
