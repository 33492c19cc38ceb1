import { pino } from 'pino';
import type { Area } from '../../../src/console/area.ts';
import { accountsArea } from '../../../src/console/accounts/accounts-area.ts';
import { assistantArea } from '../../../src/console/assistant/assistant-area.ts';
import { reportsArea } from '../../../src/console/reports/reports-area.ts';
import { coverageArea } from '../../../src/console/coverage/coverage-area.ts';
import { deliveriesArea } from '../../../src/console/deliveries/deliveries-area.ts';
import { liveArea } from '../../../src/console/live/live-area.ts';
import { createEventHub } from '../../../src/console/live/event-hub.ts';
import { operatorLogArea } from '../../../src/console/operator-log/operator-log-area.ts';
import { peopleArea } from '../../../src/console/people/people-area.ts';
import { quarantineArea } from '../../../src/console/quarantine/quarantine-area.ts';
import { subscriptionsArea } from '../../../src/console/subscriptions/subscriptions-area.ts';
import { formatPosition } from '../../../src/events/event-position.ts';
import type { QueuedDelivery } from '../../../src/queue/delivery-batch.ts';
import { replayQuarantined } from '../../../src/replay/replay.ts';
import { saveRuleStep } from '../../../src/store/alerts/alerts.ts';
import type { Db } from '../../../src/store/server/database.ts';
import { addDestination } from '../../../src/store/destinations/destinations.ts';
import { recordAction } from '../../../src/store/access/operator-log.ts';
import { discardQuarantined } from '../../../src/store/quarantine/quarantine.ts';
import { insertRejected } from '../../../src/store/destinations/rejected-events.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { insertSource } from '../../../src/store/sources/sources.ts';
import { recordSubscription } from '../../../src/store/sources/subscriptions.ts';
import type { Change } from '../../../src/subscribe/plan.ts';
import type { Subscriber } from '../../../src/subscribe/subscriber.ts';
import { SAMPLES } from '../../handlers/samples.ts';
import { fileDestination, storeDeliveries, unreadableDelivery } from '../../support/actions.ts';
import { deliverAndCount } from '../../support/arrivals.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { SECRETS_KEY, settingsForTests, sourcesForTests } from '../../support/sources.ts';
import { integrityForTests } from '../integrity/integrity-for-tests.ts';
import { countPeople } from '../seeded-people.ts';
import { overviewForTests, systemForTests } from '../overview/overview-for-tests.ts';
import { outputsForTests } from '../../support/outputs.ts';
import { eventsForTests } from '../../support/events-area.ts';

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;

/** In everything that concerns all sources together. */
export const WHOLE = 'WHOLEMARK';

export const DESTINATION = 'archive';

/** The time of the events, and of their receipt. */
export const BASE = Date.now() - 3 * 3_600_000;

const SAMPLE_TIME = Date.parse('2026-01-31T08:00:00.123Z');

/** What there is to ask of one source. */
export interface Known {
  readonly source: string;
  /** Is in the payload of every event, in contents and reasons. */
  readonly mark: string;
  readonly user: string;
  readonly mac: string;
  readonly ap: string;
  readonly eventId: string;
  readonly at: string;
  readonly deliveryId: string;
  readonly openId: string;
  readonly discardedId: string;
  readonly replayedId: string;
  readonly replayId: string;
  readonly exportId: string;
}

/** The names of a source before anything of it is stored. */
export const namesOf = (source: string, digit: string) => ({
  source,
  mark: `${source.toUpperCase()}MARK`,
  user: `user-${source}`,
  mac: `0${digit}:1b:2c:3d:4e:5f`,
  ap: `0${digit}:bb:cc:00:11:22`,
  exportId: digit.repeat(32),
});

type Names = ReturnType<typeof namesOf>;

/** One delivery of each message type, with the names of the source in it. */
export function deliveriesOf({ source, mark, user, mac, ap }: Names, time = BASE): QueuedDelivery[] {
  return SAMPLES.map(({ messageType, record }) => {
    const text = JSON.stringify([{ ...record, marker: mark }])
      .replaceAll(/0A[-:]?1B[-:]?2C[-:]?3D[-:]?4E[-:]?5F/gi, mac.replaceAll(':', '-'))
      .replaceAll(/AA[-:]?BB[-:]?CC[-:]?00[-:]?11[-:]?22/gi, ap.replaceAll(':', '-'))
      .replaceAll(String(SAMPLE_TIME), String(time))
      .replaceAll(/jane|admin@example\.com|guest@example\.com/g, user)
      .replaceAll(/Guest WiFi|ap-lobby|logged in|client data/g, mark);
    return queuedDelivery(messageType, [], { records: text, source, receivedAt: BASE });
  });
}

/** What is replayed can be read by now. */
const contentOf = (kind: string, mark: string) =>
  kind === 'replayed' ? `{"description":"${kind} ${mark}"}` : `{ ${kind} ${mark}`;

/**
 * Stores something of a source in every table that has a source, and a rejected event. With another source, also later
 * events of the same people, devices and access points as that one's.
 */
export async function seedSource(db: Db, names: Names, other?: Names): Promise<Known> {
  const { source, mark } = names;
  await storeDeliveries(db, ...deliveriesOf(names));
  if (other !== undefined) {
    const { user, mac, ap } = other;
    await storeDeliveries(db, ...deliveriesOf({ ...names, user, mac, ap }, BASE + 60_000));
  }
  await storeDeliveries(
    db,
    ...['open', 'discarded', 'replayed'].map((kind) =>
      unreadableDelivery('', {
        source,
        receivedAt: BASE,
        unreadable: [
          { reason: `${kind} ${mark}`, content: Buffer.from(contentOf(kind, mark)).toString('base64') },
        ],
      }),
    ),
  );
  const items = await db.selectFrom('quarantine').selectAll().where('source', '=', source).execute();
  const idOf = (kind: string) => items.find(({ reason }) => reason.startsWith(kind))?.quarantine_id ?? '';
  await discardQuarantined(db, ALL_SOURCES, [idOf('discarded')]);
  const context = { db, logger, scope: ALL_SOURCES, maxBodyBytes: 1024 * 1024, giveUp: never };
  const [replay] = await replayQuarantined(context, [idOf('replayed')]);
  const event = await db
    .selectFrom('events')
    .selectAll()
    .where('source', '=', source)
    .where('message_type', '=', 'AUTHENTICATION_LOG_ALL')
    .where('user_name', '=', names.user)
    .executeTakeFirstOrThrow();
  const at = event.occurred_at.toISOString();
  await addDestination(db, DESTINATION, 0);
  await insertRejected(db, DESTINATION, {
    eventId: event.event_id,
    occurredAt: at,
    messageType: event.message_type,
    reason: `rejected ${mark}`,
  });
  await db.updateTable('destinations').set({ last_error: WHOLE, sent_count: '777777' }).execute();
  await recordSubscription(db, {
    subscription_id: String(mark.length),
    source,
    message_type: 'SMS_LOG_ALL',
    url: `https://sink.test/ingest/${source}/SMS_LOG_ALL`,
    application: mark,
    status: 'ENABLED',
    secret_digest: null,
  });
  const alert = { rule: 'keys', title: mark, severity: 'high', source, group: {}, count: 1 } as const;
  const cause = { eventId: event.event_id, occurredAt: at };
  await db.transaction().execute((trx) =>
    saveRuleStep(trx, {
      position: 0,
      rules: {},
      states: [],
      alerts: [{ ...alert, firstAt: at, lastAt: at, causes: [cause] }],
    }),
  );
  await insertSource(db, source, { webhook_secrets: [{ env: mark }], cloud: { api_url: `https://${mark}` } });
  const operator = { name: WHOLE, via: 'console' } as const;
  await recordAction(db, { operator, action: 'subscriptions.apply', subject: source }, async () => mark);
  await deliverAndCount(db);
  await countPeople(db);
  return {
    ...names,
    eventId: event.event_id,
    at,
    deliveryId: event.delivery_id,
    openId: idOf('open'),
    discardedId: idOf('discarded'),
    replayedId: idOf('replayed'),
    replayId: replay?.kind === 'replayed' ? replay.deliveryId : '',
  };
}

/** All areas of the console, with subscriptions and silences of these sources. */
export function areasOf(db: Db, directory: string, sources: readonly Names[]): Area[] {
  const silence = ({ source, mark }: Names) => ({
    source,
    messageType: 'AUDIT_LOG_ALL' as const,
    lastReceivedAt: new Date(BASE),
    state: 'unusual' as const,
    sentence: `quiet ${mark}`,
  });
  const check = ({ source, mark }: Names) => ({
    name: `silence: ${source} AUDIT_LOG_ALL`,
    state: 'unusually quiet',
    why: mark,
  });
  const outputs = outputsForTests(db, [fileDestination(DESTINATION, directory)]);
  const areas = [
    overviewForTests(db, {
      silences: async () => sources.map(silence),
      readiness: async () => ({
        checks: [
          { name: 'queue', state: 'ok', why: '' },
          { name: 'forwarding', state: 'behind', why: WHOLE },
          ...sources.slice(1).map(check),
        ],
      }),
      firstDelivery: `send to ${sources.at(-1)?.source ?? ''} ${WHOLE}`,
    }),
    eventsForTests(db),
    peopleArea({ db }),
    liveArea({ db, hub: createEventHub(db, { intervalMs: 50 }) }),
    deliveriesArea({ db }),
    coverageArea({ db }),
    ...integrityForTests(db),
    outputs.alerts,
    reportsArea({ db, schedules: () => [] }),
    quarantineArea({ db, maxBodyBytes: 1024 * 1024, logger }),
    outputs.destinations,
    subscriptionsArea({ db, subscribers: sources.map(subscriberOf), missing: [] }),
    operatorLogArea({ db }),
    systemForTests(db),
    accountsArea({ db }),
    sourcesForTests(db, { SECRETS_KEY, WEBHOOK_SECRET: `${WHOLE}-0123456789` }),
    settingsForTests(db, { sources: [WHOLE, ...sources.map(({ source }) => source)] }),
  ];
  return [...areas, assistantArea({ db, areas, logger })];
}

function subscriberOf({ source, mark }: Names): Subscriber {
  const actual = {
    id: undefined,
    application: mark,
    url: `https://${mark}.test`,
    messageType: 'SMS_LOG_ALL',
    status: 'ENABLED',
    secretDigest: undefined,
  };
  const change: Change = { action: 'delete', actual, reason: 'not wanted' };
  return {
    source,
    list: async () => ({ from: 'cloud', subscriptions: [{ ...actual, isOurs: true }] }),
    plan: async () => ({ comparedWith: 'cloud', steps: [change], notOffered: [] }),
    apply: async () => ({ outcomes: [{ change, error: undefined }], unfinished: [] }),
    askAgain: async () => undefined,
    logout: async () => undefined,
  };
}

const cursorOf = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url');

/** The cursors that point at something of a source. */
export const cursorsOf = ({ eventId, at, deliveryId, openId }: Known) => ({
  events: formatPosition({ occurredAt: at, eventId }),
  deliveries: cursorOf({ at: new Date(BASE).toISOString(), id: deliveryId }),
  quarantine: cursorOf({ id: openId }),
  open: cursorOf({ began: '2100-01-01', after: openId }),
  rejected: cursorOf({ id: eventId }),
});
