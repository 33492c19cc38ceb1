import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { recordEnded } from '../../src/store/access/operator-log.ts';
import { recordDropped } from '../../src/store/reconcile/gaps.ts';
import { PARTITIONED } from '../../src/store/partitions/partitioned-tables.ts';
import { eraseRows } from '../../src/store/seal/erase.ts';
import { NO_TRACES } from '../../src/store/seal/person-traces.ts';
import { storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { countAll } from '../support/arrivals.ts';
import { useDatabase } from '../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { freely } from '../support/tamper.ts';

const MARCH = Date.UTC(2026, 2, 10);

const test = useDatabase({ forEach: true });
let log: SealedLog;

beforeEach(async () => {
  log = await openSealedLog(test.service);
  const records = Array.from({ length: 5 }, (_, code) => auditRecord({ code, timeStamp: MARCH + code }));
  const old = { receivedAt: MARCH };
  await storeDeliveries(
    test.service,
    queuedDelivery('AUDIT_LOG_ALL', records, old),
    unreadableDelivery('bytes', old),
  );
  await countAll(test.service);
  await log.seal();
});

async function findings() {
  await log.seal();
  return (await log.verify()).findings;
}

async function recordRetention(): Promise<void> {
  const [table] = PARTITIONED;
  if (table === undefined) throw new Error('there are no tables');
  await test.service.transaction().execute((trx) => recordDropped(trx, table, 'audit_events_2026_03'));
}

describe('a record of retention', () => {
  it('does not excuse one event of a month that is there', async () => {
    await freely(test.db, sql`delete from audit_events where code = 3`);
    await recordRetention();
    const found = await findings();
    expect(found.map(({ state, subject }) => [state, subject])).toContainEqual(['MISSING', 'event']);
    expect(found.find(({ subject }) => subject === 'event')?.detail).toContain('the month still exists');
    expect(found.map(({ state }) => state)).not.toContain('EXPIRED');
  });

  it('excuses the events of a month that is gone as a whole', async () => {
    await freely(test.db, sql`delete from audit_events`);
    await recordRetention();
    const found = await findings();
    expect(found.filter(({ subject }) => subject === 'event').map(({ state }) => state)).toEqual(
      Array.from({ length: 5 }, () => 'EXPIRED'),
    );
  });

  it('does not excuse one delivery of a month that is there, nor those of other months', async () => {
    await freely(test.db, sql`delete from deliveries where quarantined_count = 1`);
    const drop = (subject: string) =>
      recordEnded(test.service, {
        operator: { name: 'xiq-sink', via: 'system' },
        action: 'retention.drop',
        subject,
      });
    await drop('deliveries_2026_03');
    await drop('deliveries_2026_04');
    await drop('deliveries_before_2099_01');
    const about = (found: Awaited<ReturnType<typeof findings>>) =>
      found
        .filter(({ subject, detail }) => subject === 'delivery' && detail !== undefined)
        .map(({ state }) => state);
    expect(about(await findings())).toEqual(['MISSING']);
    await freely(test.db, sql`delete from deliveries`);
    expect(about(await findings())).toEqual(['EXPIRED', 'EXPIRED']);
  });
});

it('an erasure without a request in the operator log leaves rows missing, also long after one that never ended', async () => {
  await test.query`insert into operator_log (began_at, operator, via, action, details)
    values (now() - interval '25 hours', 'jane', 'command', 'events.erase', '{}')`;
  const rows = await test.query<{ eventId: string; occurredAt: string; receivedAt: Date }>`
      select event_id as "eventId", occurred_at::text as "occurredAt", received_at as "receivedAt" from audit_events
      where code = 2`;
  const events = rows.map((row) => ({ ...row, source: 'default', table: 'audit_events' }));
  const grounds = { operator: 'mallory', reason: 'none' };
  expect(await eraseRows(test.service, grounds, { events, ...NO_TRACES })).toBeDefined();
  const found = await findings();
  expect(found).toMatchObject([{ state: 'MISSING', subject: 'event' }]);
  expect(found[0]?.detail).toContain('has no request');
});

it('a gap may end later, and not earlier', async () => {
  await test.query`insert into gaps (source, began_at, ended_at, reason) values ('default', '2026-03-01', '2026-03-02', 'refused')`;
  await log.seal();
  await test.query`update gaps set ended_at = '2026-03-03'`;
  expect(await findings()).toEqual([]);
  await test.query`update gaps set ended_at = '2026-03-01'`;
  expect(await findings()).toMatchObject([{ state: 'ALTERED', subject: 'gap' }]);
});

describe('the content of a quarantined item', () => {
  it('may become empty when it is resolved, and nothing else', async () => {
    await freely(test.db, sql`update quarantine set content = 'other bytes'`);
    await test.query`insert into log_queue (kind, key) select 'quarantined item', quarantine_id::text from quarantine`;
    expect(await findings()).toMatchObject([{ state: 'ALTERED', subject: 'quarantined item' }]);
  });

  it('is empty for good once it was discarded', async () => {
    await sql`update quarantine set resolution = 'discarded', resolved_at = now(),
      discarded_bytes = octet_length(content), content = ''`.execute(test.service);
    expect(await findings()).toEqual([]);
  });
});
