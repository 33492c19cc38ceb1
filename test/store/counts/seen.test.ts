import * as fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { QueuedDelivery } from '../../../src/queue/delivery-batch.ts';
import { openDatabase } from '../../../src/store/server/database.ts';
import { eraseRows, findEventsById } from '../../../src/store/seal/erase.ts';
import { NO_TRACES } from '../../../src/store/seal/person-traces.ts';
import { saveHistory } from '../../../src/store/reconcile/history.ts';
import { pruneSeen, rollUpSeen, SEEN_DAYS } from '../../../src/store/counts/roll-up-seen.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { emptyTables } from '../../support/database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openSealedLog, type SealedLog } from '../../support/sealed-log.ts';
import { useDatabase } from '../../support/use-database.ts';

const DAY = 86_400_000;

const test = useDatabase();
let log: SealedLog;
beforeAll(async () => {
  log = await openSealedLog(test.service);
});
beforeEach(() => emptyTables(test.db));

/** Counts all that the log has, `step` positions at a time. */
async function countAll(step?: number): Promise<void> {
  await untilSeen(test.db);
  await waitFor(async () => {
    const rolled = await rollUpSeen(test.service, step);
    return rolled !== undefined && !rolled.isBehind;
  });
}

/** What must be counted of the events in the tables, without the code under test. */
async function recount() {
  const rows = await test.query`
    with appearance as (
      select 'administrator' as kind, lower(user_name) as key, source, least(occurred_at, received_at) as occurred_at, 'audit' as family,
        code = 10001 as login,
        code not in (10001, 10002, 40001, 40003) and config is not null as change, code in (40001, 40003) as made
      from audit_log where user_name <> ''
      union all select 'administrator', lower(username), source, least(occurred_at, received_at), 'log', false, false, false from gdpr_log
        where username <> ''
      union all select 'user', lower(username), source, least(occurred_at, received_at), 'log', true, false, false from authentication_log
        where username <> ''
      union all select 'user', lower(username), source, least(occurred_at, received_at), 'log', false, false, false from accounting_log
        where username <> ''
      union all select 'client', client_mac::text, source, least(occurred_at, received_at), 'log', false, false, false from authentication_log
        where client_mac is not null
      union all select 'client', client_mac::text, source, least(occurred_at, received_at), 'log', false, false, false from accounting_log
        where client_mac is not null
      union all select 'access point', ap_mac::text, source, least(occurred_at, received_at), 'log', false, false, false from authentication_log
        where ap_mac is not null
      union all select 'access point', ap_mac::text, source, least(occurred_at, received_at), 'log', false, false, false from accounting_log
        where ap_mac is not null
      union all select 'client', client_mac::text, source, least(occurred_at, received_at), 'location', false, false, false from location_ap_centric
      union all select 'access point', ap_mac::text, source, least(occurred_at, received_at), 'location', false, false, false from location_ap_centric
    )
    select kind, key, source, max(occurred_at) as last_seen, max(occurred_at) filter (where family = 'location') as location_at,
      coalesce(sum(1) filter (where ${isCounted}), 0)::int as events,
      coalesce(sum(1) filter (where login and ${isCounted}), 0)::int as logins,
      coalesce(sum(1) filter (where change and ${isCounted}), 0)::int as changes,
      coalesce(sum(1) filter (where made and ${isCounted}), 0)::int as keys
    from appearance group by 1, 2, 3 order by kind, key collate "C", source`;
  return rows;
}

const isCounted = sql`occurred_at >= date_trunc('day', now() at time zone 'UTC') at time zone 'UTC' - interval '29 days'`;

async function counted() {
  const rows = await test.query`
    select seen.kind, seen.key, seen.source, last_seen, location_at, coalesce(sum(events), 0)::int as events,
      coalesce(sum(logins), 0)::int as logins, coalesce(sum(changes), 0)::int as changes, coalesce(sum(keys), 0)::int as keys
    from seen left join seen_days using (kind, key, source)
    group by 1, 2, 3, 4, 5 order by 1, 2, 3`;
  return rows;
}

const PEOPLE = ['ann', 'Ann', 'bob', 'ÉVA', ''];
const STATIONS = ['02:00:00:00:00:01', '02:00:00:00:00:02'];

const TYPES = [
  'AUDIT_LOG_ALL',
  'GDPR_LOG_ALL',
  'AUTHENTICATION_LOG_ALL',
  'ACCOUNTING_LOG_ALL',
  'LOCATION_AP_CENTRIC',
] as const;

/** Events that claim to occur in 60 years. */
const FUTURE = -60 * 365;

/** An event of some days ago that names these. */
const given = fc.record({
  type: fc.constantFrom(...TYPES),
  person: fc.constantFrom(...PEOPLE),
  station: fc.constantFrom(...STATIONS),
  daysAgo: fc.constantFrom(0, 1, 5, 29, 30, 45, FUTURE),
  code: fc.constantFrom(10_001, 10_002, 40_001, 40_003, 7),
  source: fc.constantFrom('default', 'branch'),
});

type Given = typeof given extends fc.Arbitrary<infer One> ? One : never;

let number = 0;

function deliveryOf({ type, person, station, daysAgo, code, source }: Given): QueuedDelivery {
  number += 1;
  const at = Date.now() - daysAgo * DAY - number;
  const access = {
    timestamp: at,
    username: person,
    calling_station_id: station,
    called_station_id: `00:11:22:33:44:0${code % 3}:corp`,
  };
  const records = {
    AUDIT_LOG_ALL: () =>
      auditRecord({ timeStamp: at, userName: person, code, config: code === 7 ? { a: 1 } : null }),
    GDPR_LOG_ALL: () => ({ timestamp: at, username: person, client_mac: station, category: 'delete' }),
    AUTHENTICATION_LOG_ALL: () => ({ ...access, reply: 'Access-Accept' }),
    ACCOUNTING_LOG_ALL: () => access,
    LOCATION_AP_CENTRIC: () => ({
      apMac: `00:11:22:33:44:0${code % 3}`,
      observations: [{ clientMac: station, seenEpoch: at }],
    }),
  };
  return queuedDelivery(type, [records[type]()], { source });
}

const storing = fc.record({ do: fc.constant('store' as const), events: fc.array(given, { maxLength: 8 }) });
const counting = fc.record({
  do: fc.constantFrom('redeliver', 'roll up', 'count all', 'roll up twice at once', 'kill', 'begin anew'),
});
const erasing = fc.record({ do: fc.constant('erase' as const), oneIn: fc.constantFrom(1, 2, 3) });
const step = fc.oneof(
  { weight: 4, arbitrary: storing },
  { weight: 4, arbitrary: counting },
  { weight: 2, arbitrary: erasing },
);

/** Erases one of so many events. */
async function erase(oneIn: number): Promise<void> {
  await log.seal();
  const rows = await test.query<{ id: string }>`select event_id::text as id from events order by event_id`;
  const chosen = rows.filter((_, index) => index % oneIn === 0).map(({ id }) => id);
  const events = await findEventsById(test.db, chosen);
  const erasure = await eraseRows(
    test.service,
    { operator: 'jane', reason: 'a test' },
    { events, ...NO_TRACES },
  );
  expect(erasure).toBeDefined();
}

/** Ends the roll-up of another process at any moment. */
async function kill(): Promise<void> {
  const other = openDatabase(`${test.databaseUrl}?application_name=killed`, () => undefined);
  const ended = rollUpSeen(other, 3).catch(() => undefined);
  await test.query`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'killed'`;
  await ended;
  await other.destroy();
}

describe('the tables of people and devices', () => {
  it('have what a count over the events has, after redeliveries, erasures, kills and restarts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 10 }), async (steps) => {
        await emptyTables(test.db);
        const stored: QueuedDelivery[] = [];
        for (const one of steps) {
          if (one.do === 'store') {
            const deliveries = one.events.map(deliveryOf);
            stored.push(...deliveries);
            await storeDeliveries(test.db, ...deliveries);
          } else if (one.do === 'erase') await erase(one.oneIn);
          else if (one.do === 'redeliver') {
            // With what was erased: nobody refuses it here, so it is stored and counted again.
            await storeDeliveries(
              test.db,
              ...stored.map((delivery) => ({ ...delivery, deliveryId: crypto.randomUUID() })),
            );
          } else if (one.do === 'kill') await kill();
          else if (one.do === 'count all') await countAll();
          else if (one.do === 'begin anew') {
            // As after an upgrade: all events are of before.
            await untilSeen(test.db);
            await test.query`truncate seen, seen_days`;
            await test.query`
              update seen_progress set first_position = log_state.next_position, next_position = log_state.next_position
              from log_state`;
          } else {
            await untilSeen(test.db);
            await Promise.all([
              rollUpSeen(test.service, 3),
              one.do === 'roll up' ? undefined : rollUpSeen(test.service, 3),
            ]);
          }
        }
        await countAll(5);
        expect(await counted()).toEqual(await recount());
      }),
      { numRuns: 8 },
    );
  });

  it('lose an event that its webhook supersedes', async () => {
    const fetched = deliveryOf({
      type: 'AUDIT_LOG_ALL',
      person: 'ann',
      station: '',
      daysAgo: 0,
      code: 10_001,
      source: 'default',
    });
    await storeDeliveries(test.db, { ...fetched, origin: 'backfill' });
    await countAll();
    const rows = await test.query<{ eventId: string; occurredAt: Date }>`
      select event_id as "eventId", occurred_at as "occurredAt" from events`;
    expect(await counted()).toMatchObject([{ key: 'ann', events: 1, logins: 1 }]);
    const superseded = rows.map((row) => ({ ...row, supersededBy: crypto.randomUUID() }));
    await saveHistory(test.service, { source: 'default', messageType: 'AUDIT_LOG_ALL' }, [], superseded);
    expect(await counted()).toEqual([]);
  });

  it('keep the latest spelling of a name, and the host name of an access point', async () => {
    const record = (username: string, at: number, host?: string) => ({
      timestamp: at,
      username,
      called_station_id: '00:11:22:33:44:55:corp',
      nas_identifier: host,
    });
    const now = Date.now();
    await storeDeliveries(
      test.db,
      queuedDelivery('AUTHENTICATION_LOG_ALL', [
        record('Ann', now, undefined),
        record('ANN', now - 10, 'ap-lobby'),
      ]),
    );
    await countAll();
    const rows = await test.query`select kind, key, name, label from seen order by kind`;
    expect(rows).toEqual([
      { kind: 'access point', key: '00:11:22:33:44:55', name: 'ap-lobby', label: 'ap-lobby' },
      { kind: 'user', key: 'ann', name: 'Ann', label: 'ann' },
    ]);
  });

  it('forget days that are too old, and whom no event names any more', async () => {
    const one = { type: 'LOCATION_AP_CENTRIC', person: '', code: 7, source: 'default' } as const;
    await storeDeliveries(
      test.db,
      ...STATIONS.map((station, index) => deliveryOf({ ...one, station, daysAgo: index })),
    );
    await countAll();
    await pruneSeen(test.db, new Date(Date.now() + (SEEN_DAYS - 1) * DAY));
    const rows = await test.query`select distinct key, events::int from seen_days where kind = 'client'`;
    expect(rows).toEqual([{ key: STATIONS[0], events: 1 }]);
    // An event of 1970 keeps nobody, and a dropped month of the future drops nobody.
    await storeDeliveries(test.db, deliveryOf({ ...one, station: STATIONS[0] ?? '', daysAgo: 20_000 }));
    await test.query`
      insert into gaps (message_type, began_at, ended_at, reason) values
        ('LOCATION_AP_CENTRIC', '2001-01-01', '2001-02-01', 'retention'),
        ('LOCATION_AP_CENTRIC', '2090-01-01', '2090-02-01', 'retention')`;
    await test.query`update seen set location_at = '2001-01-01' where key = ${STATIONS[1]}`;
    await pruneSeen(test.db, new Date());
    const left = await test.query`select key from seen where kind = 'client'`;
    expect(left).toEqual([{ key: STATIONS[0] }]);
  });
});
