import { sql } from 'kysely';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { emptyTables, unguarded } from '../support/database.ts';
import { useDatabase } from '../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';

const test = useDatabase();
beforeEach(() => emptyTables(test.db));

const logger = pino({ level: 'silent' });
const forever = new AbortController().signal;

const store = (...deliveries: QueuedDelivery[]) =>
  new BatchStore(test.db, logger, forever).add({ deliveries });

const audits = () => test.query<Record<string, unknown>>`select * from audit_log order by id`;

const counts = () =>
  test.db
    .selectFrom('deliveries')
    .select(['record_count', 'expected_count', 'event_count', 'duplicate_count', 'quarantined_count'])
    .orderBy('delivery_id')
    .execute();

describe('storing a batch', () => {
  it('writes a record into the typed columns, every digit of an id kept', async () => {
    const record = auditRecord({
      timeStamp: 1_760_000_000_123,
      hostNames: ['ap "1"', 'ap\\2'],
      config: { a: [1] },
    });
    const text = JSON.stringify(record).replace('2345678', '9007199254740993');
    await store(queuedDelivery('AUDIT_LOG_ALL', [], { records: `[${text}]`, recordCount: 1 }));
    const [row] = await audits();
    expect(row).toMatchObject({
      user_id: '9007199254740993',
      owner_id: '1234567',
      org_id: '0',
      code: '10001',
      user_name: 'admin@example.com',
      occurred_at: new Date(1_760_000_000_123),
      host_names: ['ap "1"', 'ap\\2'],
      config: { a: [1] },
      origin: 'webhook',
    });
    expect(await test.query`select payload->>'userId' as id from audit_log`).toEqual([
      { id: '9007199254740993' },
    ]);
  });

  it('creates the months of the past that its events need, by COPY and by inserts, and no impossible ones', async () => {
    const at = (year: number) => auditRecord({ timeStamp: Date.UTC(year, 4, 5) });
    const unreadable = [{ reason: 'not JSON', content: 'e30=' }];
    await store(queuedDelivery('AUDIT_LOG_ALL', [2014, 2015, 2016, 2090].map(at)));
    // What has something for quarantine is not for COPY.
    await store(queuedDelivery('AUDIT_LOG_ALL', [2016, 2017, 2018].map(at), { unreadable, recordCount: 4 }));
    const rows = await test.query`
      select tableoid::regclass::text as partition, array_agg(extract(year from occurred_at)::int order by occurred_at) as years
      from audit_events group by 1 order by 1`;
    expect(rows).toEqual([
      ...[2015, 2016, 2017, 2018].map((year) => ({ partition: `audit_events_${year}_05`, years: [year] })),
      { partition: 'audit_events_default', years: [2014, 2090] },
    ]);
  });

  it('creates twelve months at once, because the events of others wait for them', async () => {
    const records = Array.from({ length: 14 }, (_, month) =>
      auditRecord({ timeStamp: Date.UTC(2019, month, 5) }),
    );
    await store(queuedDelivery('AUDIT_LOG_ALL', records));
    const rows = await test.query`
      select count(distinct tableoid)::int as count, count(*) filter (where tableoid = 'audit_events_default'::regclass)::int as apart
      from audit_events`;
    expect(rows).toEqual([{ count: 13, apart: 2 }]);
  });

  it('changes nothing when the same job runs again', async () => {
    const delivery = queuedDelivery('AUDIT_LOG_ALL', [auditRecord(), 'x'], {
      records: JSON.stringify([auditRecord()]),
      unreadable: [{ reason: 'not an object', content: Buffer.from('"x"').toString('base64') }],
    });
    await store(delivery);
    const before = [await audits(), await counts()];
    await store(delivery);
    expect([await audits(), await counts()]).toEqual(before);
    expect(await test.db.selectFrom('quarantine').selectAll().execute()).toHaveLength(1);
  });

  it('stores what the text types of Postgres do not take: NUL and half a surrogate pair', async () => {
    await store(queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ description: 'a\0b\ud800c', ['k\0']: 1 })]));
    const [row] = await audits();
    expect(row).toMatchObject({ description: 'a\uFFFDb\uFFFDc' });
    expect(row?.['payload']).toHaveProperty('k\uFFFD', 1);
  });

  it('adds up in the conservation view, and names what does not', async () => {
    await store(queuedDelivery('AUDIT_LOG_ALL', [auditRecord({ code: 1 }), auditRecord({ code: 2 })]));
    await store(queuedDelivery('SMS_LOG_ALL', [{ tel: '+1' }]));
    const view = () => test.query`select message_type, unaccounted_count, adds_up from conservation`;
    expect(await view()).toEqual([
      { message_type: 'AUDIT_LOG_ALL', unaccounted_count: '0', adds_up: true },
      { message_type: 'SMS_LOG_ALL', unaccounted_count: '0', adds_up: true },
    ]);
    await unguarded(test.db, sql`update deliveries set event_count = 0 where message_type = 'SMS_LOG_ALL'`);
    expect((await view())[1]).toMatchObject({ unaccounted_count: '1', adds_up: false });
  });

  it('takes two transactions that bring the same events in opposite order without a deadlock', async () => {
    const records = Array.from({ length: 200 }, (_, n) => auditRecord({ id: n }));
    await Promise.all(
      Array.from({ length: 6 }, (_, n) =>
        store(queuedDelivery('AUDIT_LOG_ALL', n % 2 === 0 ? records : records.toReversed())),
      ),
    );
    expect(await audits()).toHaveLength(200);
  });
});
