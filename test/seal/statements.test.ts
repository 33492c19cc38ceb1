import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import type { VerifyFinding } from '../../src/seal/verify/finding.ts';
import { recordDropped } from '../../src/store/reconcile/gaps.ts';
import { recordAction, recordEnded } from '../../src/store/access/operator-log.ts';
import { PARTITIONED } from '../../src/store/partitions/partitioned-tables.ts';
import { discardQuarantined, insertQuarantine } from '../../src/store/quarantine/quarantine.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { deliverAndCount } from '../support/arrivals.ts';
import { freely } from '../support/tamper.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';

const operator = { name: 'jane', via: 'console' } as const;
const QUARANTINED = '6a5a4c7e-0000-4000-8000-000000000001';

const test = useDatabase();
let log: SealedLog;
beforeAll(async () => {
  log = await openSealedLog(test.service);
});

const sealAll = async () => (await log.seal()).size;

/** Changes something as a superuser with triggers off, seals or not, looks, and undoes it. */
async function tampered(
  change: ReturnType<typeof sql>,
  undo: ReturnType<typeof sql>,
): Promise<readonly VerifyFinding[]> {
  await freely(test.db, (trx) => change.execute(trx));
  const { findings } = await log.verify();
  await freely(test.db, (trx) => undo.execute(trx));
  expect((await log.verify()).findings).toEqual([]);
  return findings;
}

describe('rows that may change', () => {
  it('are sealed in each of their states', async () => {
    let during = 0;
    await recordAction(test.service, { operator, action: 'sql.query', subject: 'x' }, async () => {
      during = await sealAll();
    });
    expect(during).toBe(1);
    expect(await sealAll()).toBe(2);
    await test.service.transaction().execute((trx) =>
      insertQuarantine(trx, [
        {
          quarantineId: QUARANTINED,
          deliveryId: QUARANTINED,
          source: 's',
          messageType: 'AUDIT_LOG_ALL',
          receivedAt: '2026-03-01T09:00:00Z',
          reason: 'no object',
          content: Buffer.from('secret words'),
          encoding: null,
          twinsBefore: 0,
        },
      ]),
    );
    expect((await log.verify()).summary).toMatchObject({ intact: 2, notSealedYet: 1 });
    expect(await sealAll()).toBe(3);
    expect(await discardQuarantined(test.service, ALL_SOURCES, [QUARANTINED])).toBe(1);
    expect(await sealAll()).toBe(4);
    // A state that was sealed is not sealed again.
    await sql`insert into log_queue (kind, key) values ('operation', '1')`.execute(test.db);
    expect(await sealAll()).toBe(4);
    const { summary, findings } = await log.verify();
    expect(findings).toEqual([]);
    expect(summary).toMatchObject({ size: 4, intact: 4, notSealedYet: 0 });
    const { rows } = await sql<{
      all: string;
    }>`select string_agg(record, '') as all from log_statements`.execute(test.db);
    expect(rows[0]?.all).not.toContain('secret words');
  });

  it('are sealed with the months that retention drops', async () => {
    const before = await sealAll();
    const [events] = PARTITIONED;
    if (events === undefined) throw new TypeError('there are no tables');
    await test.service.transaction().execute((trx) => recordDropped(trx, events, 'audit_events_2025_01'));
    expect(await sealAll()).toBe(before + 1);
    const findings = await tampered(
      sql`update gaps set began_at = '2020-01-01' where reason = 'retention'`,
      sql`update gaps set began_at = '2025-01-01' where reason = 'retention'`,
    );
    expect(findings).toMatchObject([{ state: 'ALTERED', subject: 'gap' }]);
  });

  it('are named when they were changed, deleted or inserted', async () => {
    await recordEnded(test.service, { operator, action: 'sql.query', subject: 'all' });
    await sealAll();
    const last = sql`(select max(id) from operator_log)`;
    expect(
      await tampered(
        sql`update operator_log set operator = 'joe' where id = ${last}`,
        sql`update operator_log set operator = 'jane' where id = ${last}`,
      ),
    ).toMatchObject([{ state: 'ALTERED', subject: 'operation' }]);
    expect(
      await tampered(
        sql`create table kept as select * from operator_log where id = ${last}; delete from operator_log where id = ${last}`,
        sql`insert into operator_log overriding system value select * from kept; drop table kept`,
      ),
    ).toMatchObject([{ state: 'MISSING', subject: 'operation' }]);
    expect(
      await tampered(
        sql`insert into operator_log (operator, via, action) values ('joe', 'api', 'x')`,
        sql`delete from operator_log where operator = 'joe'`,
      ),
    ).toMatchObject([{ state: 'INSERTED', subject: 'operation' }]);
    expect(
      await tampered(
        sql`update log_statements set record = replace(record, 'jane', 'joe') where leaf = 0`,
        sql`update log_statements set record = replace(record, 'joe', 'jane') where leaf = 0`,
      ),
    ).toContainEqual(expect.objectContaining({ state: 'ALTERED', subject: 'operation', leaves: [0, 1] }));
    expect(
      await tampered(
        sql`create table kept as select * from log_statements where leaf = 1; delete from log_statements where leaf = 1`,
        sql`insert into log_statements select * from kept; drop table kept`,
      ),
    ).toContainEqual(expect.objectContaining({ state: 'MISSING', leaves: [1, 2] }));
  });

  it('are named when a lower state comes back, or the statement of another row is put in place of theirs', async () => {
    const findings = await tampered(
      sql`update operator_log set outcome = null, ended_at = null, result = null where id = 1;
        update log_statements set key = '2' where leaf = 1`,
      sql`update operator_log set (outcome, ended_at, result) = (
          select record::json->>9, (record::json->>10)::timestamptz, (record::json->11)::jsonb
          from log_statements where leaf = 1) where id = 1;
        update log_statements set key = '1' where leaf = 1`,
    );
    expect(findings).toContainEqual(
      expect.objectContaining({ state: 'ALTERED', subject: 'operation', leaves: [1, 2] }),
    );
  });
});

describe('deliveries', () => {
  const received = (hour: number) => new Date(Date.UTC(2026, 2, 1, hour));
  const first = sql`(select min(delivery_id::text)::uuid from deliveries where received_at = '2026-03-01T09:00Z')`;

  it('are sealed in tiles, also those of before the seal', async () => {
    const before = (await log.verify()).summary;
    const messageType = 'AUDIT_LOG_ALL';
    await deliverAndCount(test.db, { receivedAt: received(9), messageType, count: 300, events: 0 });
    expect((await log.verify()).summary.notSealedYet).toBe(before.notSealedYet + 300);
    // A tile of 256, and one of the others.
    expect(await sealAll()).toBe(before.size + 2);
    const { summary } = await log.verify();
    expect(summary).toMatchObject({ intact: before.intact + 300, notSealedYet: before.notSealedYet });
  });

  it('are named when counts were changed so that they add up, when they were deleted and when inserted', async () => {
    expect(
      await tampered(
        sql`update deliveries set expected_count = 1, duplicate_count = 1 where delivery_id = ${first}`,
        sql`update deliveries set expected_count = 0, duplicate_count = 0 where duplicate_count = 1`,
      ),
    ).toMatchObject([{ state: 'ALTERED', subject: 'delivery' }]);
    expect(
      await tampered(
        sql`create table kept as select * from deliveries where delivery_id = ${first};
          delete from deliveries where delivery_id = ${first}`,
        sql`insert into deliveries select * from kept; drop table kept`,
      ),
    ).toMatchObject([{ state: 'MISSING', subject: 'delivery' }]);
    expect(
      await tampered(
        sql`insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
            duplicate_count, quarantined_count, source, message_type, origin, xid)
          values ('6a5a4c7e-0000-4000-8000-00000000000f', '2026-03-01', 1, 0, 0, 0, 0, 0, 'x', 'AUDIT_LOG_ALL', 'webhook', '5')`,
        sql`delete from deliveries where source = 'x'`,
      ),
    ).toMatchObject([{ state: 'INSERTED', subject: 'delivery', source: 'x' }]);
  });

  it('are expired where retention has dropped their month, and only there', async () => {
    await recordEnded(test.service, {
      operator: { name: 'xiq-sink', via: 'system' },
      action: 'retention.drop',
      subject: 'deliveries_2026_02',
    });
    await sealAll();
    const drop = sql`create table kept as select * from deliveries where received_at = '2026-03-01T09:00Z';
      delete from deliveries where received_at = '2026-03-01T09:00Z'`;
    const undo = sql`insert into deliveries select * from kept; drop table kept`;
    const states = (findings: readonly VerifyFinding[]) => new Set(findings.map(({ state }) => state));
    expect(states(await tampered(drop, undo))).toEqual(new Set(['MISSING']));
    await recordEnded(test.service, {
      operator: { name: 'xiq-sink', via: 'system' },
      action: 'retention.drop',
      subject: 'deliveries_2026_03',
    });
    await sealAll();
    expect(states(await tampered(drop, undo))).toEqual(new Set(['EXPIRED']));
  });
});

describe('a change that is not allowed', () => {
  it.each([
    ['a column that lasts', '1', sql`subject = 'nothing'`],
    ['a column that is written once', '2', sql`outcome = 'failed'`],
  ])('is named also when it was sealed: %s', async (_what, key, changed) => {
    const named = async () => (await log.verify()).findings.filter((one) => one.key === key);
    await freely(test.db, async (trx) => {
      await sql`update operator_log set ${changed} where id = ${key}`.execute(trx);
      await sql`insert into log_queue (kind, key) values ('operation', ${key})`.execute(trx);
    });
    expect(await named()).toEqual([]);
    await sealAll();
    const detail: unknown = expect.stringContaining('not allow');
    expect(await named()).toMatchObject([{ state: 'ALTERED', subject: 'operation', detail }]);
  });
});
