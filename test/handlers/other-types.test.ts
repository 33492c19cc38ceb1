import { exactTerms } from '../../src/events/search-query.ts';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { readMessageType } from '../../src/events/domain.ts';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { replayQuarantined } from '../../src/replay/replay.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { findEvents } from '../support/find-events.ts';
import { unguarded } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';
import { deliveryToEvents } from '../support/convert.ts';
import { queuedDelivery } from '../support/deliveries.ts';

const test = useDatabase();

const logger = pino({ level: 'silent' });
const giveUp = new AbortController().signal;
const store = (...deliveries: Parameters<BatchStore['add']>[0]['deliveries']) =>
  new BatchStore(test.db, logger, giveUp).add({ deliveries });

it.each([
  ['AUDIT_LOG_ALL', { messageType: 'AUDIT_LOG_ALL' }],
  ['ALERT', { messageType: 'ALERT' }],
  ['SOMETHING_NEW', { messageType: 'OTHER', sentType: 'SOMETHING_NEW' }],
  ['OTHER', { messageType: 'OTHER', sentType: 'OTHER' }],
  [`A${'_'.repeat(62)}`, { messageType: 'OTHER', sentType: `A${'_'.repeat(62)}` }],
  [`A${'_'.repeat(63)}`, undefined],
  ['AB', undefined],
  ['1ABC', undefined],
  ['audit_log_all', undefined],
  ['AUDIT-LOG', undefined],
  ['AUDIT\n', undefined],
])('%j names %o if others are stored', (name, expected) => {
  expect(readMessageType(name, true)).toEqual(expected);
  const isKnown = expected !== undefined && !('sentType' in expected);
  expect(readMessageType(name, false)).toEqual(isKnown ? expected : undefined);
});

it('events of two unknown types with the same content are two events, with ids of their own names', () => {
  const idOf = (sentType: string) =>
    deliveryToEvents(queuedDelivery('OTHER', [{ a: 1 }], { sentType })).events[0]?.eventId;
  expect(idOf('NEW_ONE')).not.toBe(idOf('NEW_TWO'));
  expect(idOf('NEW_ONE')).toBe(idOf('NEW_ONE'));
  // Once the type is known, its events have the ids of before.
  expect(idOf('SMS_LOG_ALL')).toBe(
    deliveryToEvents(queuedDelivery('SMS_LOG_ALL', [{ a: 1 }])).events[0]?.eventId,
  );
});

it('stores events of an unknown type with their name and time, finds them by text and counts them', async () => {
  const record = { timestamp: '2026-01-31T08:00:00.123Z', org_id: 5, note: 'needle' };
  await store(
    queuedDelivery('OTHER', [record], { sentType: 'NEW_ONE' }),
    queuedDelivery('AUDIT_LOG_ALL', [{}]),
  );
  const found = await findEvents(
    test.db,
    ALL_SOURCES,
    { terms: exactTerms({ text: 'NEEDLE' }) },
    { limit: 5 },
  );
  expect(found).toMatchObject([
    {
      messageType: 'OTHER',
      family: 'other',
      occurredAt: '2026-01-31T08:00:00.123Z',
      orgId: '5',
      columns: { sent_type: 'NEW_ONE' },
      payload: { note: 'needle' },
    },
  ]);
  const rows = await test.query`
    select message_type, event_count::int as events, adds_up from conservation order by 1`;
  expect(rows).toEqual([
    { message_type: 'AUDIT_LOG_ALL', events: 1, adds_up: true },
    { message_type: 'OTHER', events: 1, adds_up: true },
  ]);
  expect(await test.query`select sent_type from deliveries order by 1`).toEqual([
    { sent_type: 'NEW_ONE' },
    { sent_type: null },
  ]);
});

it('a quarantined record of an unknown type is replayed under its name, also without its delivery', async () => {
  await test.query`alter table other_events add constraint poison check (org_id <> 666)`;
  const delivery = queuedDelivery('OTHER', [{ org_id: 666 }], { sentType: 'NEW_ONE' });
  await store(delivery);
  await test.query`alter table other_events drop constraint poison`;
  await unguarded(test.db, (trx) =>
    trx.deleteFrom('deliveries').where('delivery_id', '=', delivery.deliveryId).execute(),
  );
  const rows = await test.query<{ id: string }>`select quarantine_id as id from quarantine`;
  const context = { db: test.db, logger, maxBodyBytes: 1024 * 1024, scope: ALL_SOURCES, giveUp };
  const replays = await replayQuarantined(
    context,
    rows.map(({ id }) => id),
  );
  expect(replays).toMatchObject([{ kind: 'replayed', events: 1 }]);
  expect(await test.query`select event_id, sent_type from other_log where org_id = 666`).toEqual([
    { event_id: deliveryToEvents(delivery).events[0]?.eventId, sent_type: 'NEW_ONE' },
  ]);
});
