import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { compareHistory, sumQuarters, type HistoryContext } from '../../src/reconcile/compare-history.ts';
import type { LoggedType } from '../../src/reconcile/log-kinds.ts';
import { createMissingStore } from '../../src/reconcile/start-history-sweep.ts';
import { findEvents } from '../support/find-events.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { storeDeliveries } from '../support/actions.ts';
import { emptyTables, unguarded } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { writtenLog, type WrittenLog } from './stand-in.ts';
import { planOf } from '../support/plan.ts';
import { useDatabase } from '../support/use-database.ts';

const logger = pino({ level: 'silent' });
const giveUp = new AbortController().signal;
const FROM = Date.parse('2026-11-10T10:00:00Z');
const TO = FROM + 60 * 60 * 1000;

const test = useDatabase();
let log: WrittenLog;
let context: HistoryContext;
beforeEach(async () => {
  await emptyTables(test.db);
  await unguarded(test.db, (trx) => sql`truncate superseded_events, history_records`.execute(trx));
  log = writtenLog();
  const storeMissing = createMissingStore(test.service, logger, giveUp);
  context = { db: test.service, logs: log, clock: systemClock, toleranceMs: 2_000, storeMissing };
});

const receive = (messageType: LoggedType, ...records: readonly object[]) =>
  storeDeliveries(test.service, queuedDelivery(messageType, records));

const compare = (messageType: LoggedType = 'AUDIT_LOG_ALL', overrides: Partial<HistoryContext> = {}) =>
  compareHistory(
    { ...context, ...overrides },
    { source: 'default', messageType, from: new Date(FROM), to: new Date(TO) },
  );

/** An audit event in both forms, which share neither id nor category. */
function audit(id: number, at: number, { description = 'changed', skew = 0, userId = 7 } = {}) {
  return {
    webhook: auditRecord({ timeStamp: FROM + at + skew, userId, code: 40_001, description }),
    logged: {
      id,
      timestamp: FROM + at,
      category: 'CONFIG',
      user_id: userId,
      code: 40_001,
      username: 'admin@example.com',
      org_id: 12,
      description,
    },
  };
}

/** An alert of `GET /alerts`. */
const alertAt = (id: string, at: number, device = '7') => ({
  id,
  timestamp: new Date(FROM + at).toISOString().replace('Z', '+0000'),
  alert_policy_id: 3,
  alert_rule_id: 31,
  summary: 'CPU usage high',
  source: { source_id: device, source_name: `ap ${device}` },
  acknowledged: false,
});

const visible = async (view = 'audit_log') =>
  await test.query<{ origin: string; recordId: string | null }>`
      select origin, record_id as "recordId" from ${sql.table(view)} order by occurred_at, record_id`;

const stored = async (table = 'audit_events') =>
  Number((await test.query<{ count: string }>`select count(*) from ${sql.table(table)}`)[0]?.count);

describe('a comparison', () => {
  it('fetches events that no webhook delivered, once, as one delivery of its own origin', async () => {
    const events = [audit(1, 1_000), audit(2, 2_000, { userId: 8 }), audit(3, 60_000, { skew: 40 })];
    await receive('AUDIT_LOG_ALL', ...events.slice(1).map(({ webhook }) => webhook));
    log.records = events.map(({ logged }) => logged);
    expect(sumQuarters(await compare())).toEqual({ matched: 2, onlyWebhook: 0, onlyLog: 1, ambiguous: 0 });
    expect(await visible()).toEqual([
      { origin: 'backfill', recordId: '1' },
      { origin: 'webhook', recordId: null },
      { origin: 'webhook', recordId: null },
    ]);
    const rows = await test.query`
      select origin, record_count, event_count, duplicate_count from deliveries where origin = 'backfill'`;
    expect(rows).toEqual([{ origin: 'backfill', record_count: 1, event_count: 1, duplicate_count: 0 }]);
    const known = await test.query<{ logId: string; origin: string }>`
      select log_id as "logId", origin from history_records join audit_events using (event_id) order by 1`;
    expect(known.map(({ logId, origin }) => [logId, origin])).toEqual([
      ['1', 'backfill'],
      ['2', 'webhook'],
      ['3', 'webhook'],
    ]);
    expect(sumQuarters(await compare())).toEqual({ matched: 3, onlyWebhook: 0, onlyLog: 0, ambiguous: 0 });
    expect(await stored()).toBe(3);
  });

  it('tells the quarter of an hour, also of those without events, and of no other time', async () => {
    const minute = 60_000;
    const events = [audit(1, -minute), audit(2, 16 * minute), audit(3, 59 * minute), audit(4, 60 * minute)];
    log.records = events.map(({ logged }) => logged);
    await receive('AUDIT_LOG_ALL', audit(9, 31 * minute).webhook, audit(8, 61 * minute).webhook);
    const quarters = await compare();
    expect(quarters.map(({ quarter }) => quarter.toISOString().slice(11, 16))).toEqual([
      '10:00',
      '10:15',
      '10:30',
      '10:45',
    ]);
    expect(quarters.map(({ onlyLog, onlyWebhook }) => [onlyLog, onlyWebhook])).toEqual([
      [0, 0],
      [1, 0],
      [0, 1],
      [1, 0],
    ]);
    // What webhooks brought and the log does not list shows that the log may be silent until then.
    const silent = 'silent log';
    expect(quarters.map(({ doubt }) => doubt)).toEqual([undefined, silent, silent, silent]);
    expect((await visible()).filter(({ origin }) => origin === 'backfill')).toHaveLength(2);
    log.records.push(audit(5, 32 * minute).logged);
    expect((await compare()).map(({ doubt }) => doubt)).toEqual([undefined, undefined, undefined, silent]);
  });

  it('shows one event, whichever way it came first', async () => {
    const event = audit(1, 1_000, { description: 'changed the SSID of the lobby', skew: 3 });
    log.records = [{ ...event.logged, description: 'changed the SSID' }];
    await compare();
    expect(await visible()).toEqual([{ origin: 'backfill', recordId: '1' }]);
    await receive('AUDIT_LOG_ALL', event.webhook);
    expect(await visible()).toHaveLength(2);
    await compare();
    expect(await visible()).toEqual([{ origin: 'webhook', recordId: null }]);
    expect(await stored('events')).toBe(1);
    const found = await findEvents(test.service, ALL_SOURCES, {}, { limit: 10 });
    expect(found.map(({ origin }) => origin)).toEqual(['webhook']);
    // The trail keeps both, and says which one stands for the other.
    const rows = await test.query<{ origin: string; by: string }>`
      select stored.origin, successor.origin as by from superseded_events
        join audit_events as stored using (event_id)
        join audit_events as successor on successor.event_id = superseded_by`;
    expect(rows).toEqual([{ origin: 'backfill', by: 'webhook' }]);
    expect(sumQuarters(await compare())).toEqual({ matched: 1, onlyWebhook: 0, onlyLog: 0, ambiguous: 0 });
  });

  it.each([-1_500, 1_500])('pairs an event at the edge with a webhook %d ms beyond it', async (skew) => {
    const at = skew < 0 ? 0 : TO - FROM - 1;
    const event = audit(1, at, { skew });
    const outside = audit(2, at + skew, { userId: 8 });
    await receive('AUDIT_LOG_ALL', event.webhook, outside.webhook);
    log.records = [event.logged, outside.logged];
    expect(sumQuarters(await compare())).toEqual({ matched: 1, onlyWebhook: 0, onlyLog: 0, ambiguous: 0 });
    expect(await stored()).toBe(2);
    // The range only has a part of those around it, which are left to another comparison.
    expect(await test.query`select log_id from history_records`).toEqual([{ log_id: '1' }]);
  });

  it('keeps the partner of a known record when a twin comes later', async () => {
    const [first, second] = [audit(1, 1_000), audit(2, 1_500)];
    await receive('AUDIT_LOG_ALL', first.webhook);
    log.records = [first.logged];
    await compare();
    log.records = [second.logged, first.logged];
    expect(sumQuarters(await compare())).toMatchObject({ matched: 1, onlyLog: 1 });
    expect(await visible()).toHaveLength(2);
    await receive('AUDIT_LOG_ALL', second.webhook);
    await compare();
    expect((await visible()).map(({ origin }) => origin)).toEqual(['webhook', 'webhook']);
  });

  it('records a status that changes later, and stores no second event', async () => {
    const sms = {
      id: 5,
      timestamp: FROM + 1_000,
      user_id: 3,
      customer_id: 'c',
      tel: '+491',
      profile_name: 'p',
    };
    const webhook = {
      timeStamp: FROM + 1_000,
      userId: 3,
      customerId: 'c',
      tel: '+491',
      profileName: 'p',
      status: 'SEND_OUT',
    };
    await receive('SMS_LOG_ALL', webhook);
    const missing = { ...sms, id: 6, tel: '+492', status: 'SEND_OUT' };
    log.records = [{ ...sms, status: 'SEND_OUT', message_id: null }, missing];
    expect(sumQuarters(await compare('SMS_LOG_ALL'))).toMatchObject({ matched: 1, onlyLog: 1 });
    log.records = [
      { ...sms, status: 'SUCCESS', message_id: 'm-1' },
      { ...missing, status: 'FAIL' },
    ];
    expect(sumQuarters(await compare('SMS_LOG_ALL'))).toMatchObject({ matched: 2, onlyLog: 0 });
    expect(await stored('log_entries')).toBe(2);
    const rows = await test.query`
      select log_id, status, status_changed_at is not null as changed from history_records order by 1`;
    expect(rows).toEqual([
      { log_id: '5', status: 'SUCCESS', changed: true },
      { log_id: '6', status: 'FAIL', changed: true },
    ]);
  });

  it.each(['with', 'without'])(
    'finds the webhook of an alert %s its id, and records that it was acknowledged',
    async (has) => {
      const webhookOf = ({ id, source, timestamp, ...alert }: ReturnType<typeof alertAt>) => ({
        id: has === 'with' ? id : null,
        alertSource: 'unknown member',
        alertPolicyId: alert.alert_policy_id,
        alertRuleId: alert.alert_rule_id,
        source: { sourceId: source.source_id },
        timestamp,
      });
      const alerts = [alertAt('a', 1_000), alertAt('b', 1_500, '8'), alertAt('c', 30_000)];
      log.records = alerts;
      await receive('ALERT', ...alerts.slice(1).map(webhookOf));
      expect(sumQuarters(await compare('ALERT'))).toMatchObject({ matched: 2, onlyLog: 1, ambiguous: 0 });
      expect((await visible('alert_log')).filter(({ origin }) => origin === 'backfill')).toEqual([
        { origin: 'backfill', recordId: 'a' },
      ]);
      log.records = alerts.map((alert) => ({ ...alert, acknowledged: true, acknowledged_username: 'jane' }));
      expect(sumQuarters(await compare('ALERT'))).toMatchObject({ matched: 3, onlyLog: 0 });
      const rows = await test.query`select log_id, status from history_records order by 1`;
      expect(rows).toEqual(['a', 'b', 'c'].map((log_id) => ({ log_id, status: 'true' })));
      // The webhook of the fetched one comes after all.
      await receive('ALERT', ...alerts.slice(0, 1).map(webhookOf));
      await compare('ALERT');
      expect((await visible('alert_log')).map(({ origin }) => origin)).toEqual([
        'webhook',
        'webhook',
        'webhook',
      ]);
    },
  );

  it('quarantines a record without a time, once, and proves nothing until it has one', async () => {
    let timestamp = 'today';
    const logs = {
      ...log,
      read: async function* () {
        yield { ...alertAt('a', 0), timestamp };
      },
    };
    for (const _ of [1, 2]) {
      const quarters = await compare('ALERT', { logs });
      expect(new Set(quarters.map(({ doubt }) => doubt))).toEqual(new Set(['record without time']));
      expect([await stored('alerts_received'), await stored('quarantine')]).toEqual([0, 1]);
    }
    timestamp = new Date(FROM).toISOString();
    expect(sumQuarters(await compare('ALERT', { logs }))).toMatchObject({ onlyLog: 1 });
    expect(await stored('alerts_received')).toBe(1);
  });

  it('tells two alerts of one rule and source apart by an id that both sides have', async () => {
    const [lost, received] = [alertAt('a', 1_000), alertAt('b', 1_400)];
    // Another pair shows that the ids are the same.
    const before = alertAt('0', 500, '8');
    log.records = [before, lost];
    await receive('ALERT', before, received);
    expect(sumQuarters(await compare('ALERT'))).toMatchObject({ matched: 1, onlyWebhook: 1, onlyLog: 1 });
    log.records = [before, lost, received];
    expect(sumQuarters(await compare('ALERT'))).toMatchObject({ matched: 3, onlyLog: 0 });
    expect((await visible('alert_log')).map(({ recordId }) => recordId)).toEqual(['0', 'a', 'b']);
  });

  it('fetches the whole description of a missing audit event, and finds its webhook by the summary', async () => {
    const whole = 'changed the SSID of the lobby and of 40 other sites';
    const events = [audit(1, 1_000, { description: whole }), audit(2, 9_000), audit(3, 20_000)];
    log.descriptions.set('77', whole);
    log.descriptions.set('78', 'device 5: radio off');
    log.records = [
      { ...events[0]?.logged, id: 1, description: 'changed the SSID', full_description_id: 77 },
      { ...events[1]?.logged, id: 2, full_description_id: 404 },
      { ...events[2]?.logged, id: 3, full_description_id: 78 },
    ];
    await compare();
    const rows = await test.query<{ description: string }>`
      select description from audit_log order by occurred_at`;
    expect(rows.map(({ description }) => description)).toEqual([
      whole,
      'changed',
      'changed\ndevice 5: radio off',
    ]);
    expect(sumQuarters(await compare())).toMatchObject({ matched: 3, onlyLog: 0 });
    await receive('AUDIT_LOG_ALL', ...events.map(({ webhook }) => webhook));
    await compare();
    expect((await visible()).map(({ origin }) => origin)).toEqual(['webhook', 'webhook', 'webhook']);
  });

  it('asks for no description of an event that a webhook brought, nor in a dry run', async () => {
    const event = audit(1, 1_000);
    log.fullDescription = () => Promise.reject(new Error('asked'));
    log.records = [{ ...event.logged, full_description_id: 77 }];
    expect(sumQuarters(await compare('AUDIT_LOG_ALL', { isDryRun: true }))).toMatchObject({ onlyLog: 1 });
    await expect(compare()).rejects.toThrow('asked');
    await receive('AUDIT_LOG_ALL', event.webhook);
    expect(sumQuarters(await compare())).toMatchObject({ matched: 1, onlyLog: 0 });
  });

  it('reports what it compared, and writes nothing in a dry run', async () => {
    log.records = [audit(1, 1_000).logged];
    const seen: unknown[] = [];
    const onCompared = (...result: unknown[]) => void seen.push(result);
    expect(sumQuarters(await compare('AUDIT_LOG_ALL', { isDryRun: true, onCompared }))).toMatchObject({
      onlyLog: 1,
    });
    expect([await stored(), seen]).toEqual([0, []]);
    const quarters = await compare('AUDIT_LOG_ALL', { onCompared });
    const range: unknown = expect.objectContaining({ from: new Date(FROM), to: new Date(TO) });
    expect(seen).toEqual([['default', 'AUDIT_LOG_ALL', quarters, range]]);
  });

  it('fetches nothing twice after it was killed between storing and recording', async () => {
    log.records = [audit(1, 1_000).logged];
    await compare();
    await test.query`truncate history_records`;
    expect(sumQuarters(await compare())).toMatchObject({ matched: 1, onlyLog: 0 });
    expect(await stored()).toBe(1);
  });

  it('quarantines a log record that cannot be stored, once', async () => {
    log.records = [{ ...audit(1, 31 * 60_000).logged, code: 666 }];
    await test.query`alter table audit_events add constraint poison check (code <> 666)`;
    const nothing = { matched: 0, onlyLog: 0, unstored: 0 };
    const quarters = [
      { ...nothing, doubt: undefined },
      { ...nothing, doubt: undefined },
      { ...nothing, unstored: 1, doubt: 'record not stored' },
      { ...nothing, doubt: 'silent log' },
    ];
    try {
      expect(await compare()).toMatchObject(quarters);
    } finally {
      await test.query`alter table audit_events drop constraint poison`;
    }
    expect(await compare()).toMatchObject(quarters);
    expect([await stored(), await stored('quarantine')]).toEqual([0, 1]);
  });

  it('compares the members that both forms have: those of most webhooks are not published', async () => {
    const logged = {
      id: 'a',
      timestamp: FROM + 5,
      calling_station_id: '0A-1B',
      username: 'jane',
      reply: 'accept',
    };
    log.records = [logged, { ...logged, id: 'b', username: 'joe' }];
    await receive('AUTHENTICATION_LOG_ALL', {
      timeStamp: FROM + 5,
      callingStationId: '0A-1B',
      username: 'jane ',
    });
    expect(sumQuarters(await compare('AUTHENTICATION_LOG_ALL'))).toEqual({
      matched: 1,
      onlyWebhook: 0,
      onlyLog: 1,
      ambiguous: 0,
    });
    expect(await visible('authentication_log')).toContainEqual({ origin: 'backfill', recordId: 'b' });
  });
});

it('searching looks superseded events up only among those that were fetched, in the order of the index', async () => {
  await receive('AUDIT_LOG_ALL', audit(1, 1_000).webhook);
  const newest = sql`select * from events where occurred_at < now() order by occurred_at desc, event_id desc limit 5`;
  const plan = await planOf(test.db, newest);
  expect(plan).toContain('is_superseded');
  expect(plan).not.toMatch(/-> +Sort/);
  expect(plan).not.toMatch(/Join/);
});
