import { sql, type RawBuilder } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { recordDropped } from '../../src/store/reconcile/gaps.ts';
import { recordAction, recordEnded } from '../../src/store/access/operator-log.ts';
import { PARTITIONED } from '../../src/store/partitions/partitioned-tables.ts';
import { discardQuarantined, insertQuarantine } from '../../src/store/quarantine/quarantine.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { deliverAndCount } from '../support/arrivals.ts';
import { freely, whileTampered } from '../support/tamper.ts';
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

/** What verify finds after a change of these tables by a superuser with triggers off, which is undone. */
const tampered = (change: RawBuilder<unknown>, ...tables: string[]) =>
  whileTampered(test.db, tables, change, async () => (await log.verify()).findings);

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
          quarantine_id: QUARANTINED,
          delivery_id: QUARANTINED,
          source: 's',
          message_type: 'AUDIT_LOG_ALL',
          received_at: '2026-03-01T09:00:00Z',
          reason: 'no object',
          content: Buffer.from('secret words'),
          encoding: null,
          twins_before: 0,
        },
      ]),
    );
    expect((await log.verify()).summary).toMatchObject({ intact: 2, notSealedYet: 1 });
    expect(await sealAll()).toBe(3);
    expect(await discardQuarantined(test.service, ALL_SOURCES, [QUARANTINED])).toBe(1);
    expect(await sealAll()).toBe(4);
    // A state that was sealed is not sealed again.
    await test.query`insert into log_queue (kind, key) values ('operation', '1')`;
    expect(await sealAll()).toBe(4);
    const { summary, findings } = await log.verify();
    expect(findings).toEqual([]);
    expect(summary).toMatchObject({ size: 4, intact: 4, notSealedYet: 0 });
    const rows = await test.query<{
      all: string;
    }>`select string_agg(record, '') as all from log_statements`;
    expect(rows[0]?.all).not.toContain('secret words');
  });

  it('are sealed with the months that retention drops', async () => {
    const before = await sealAll();
    const [events] = PARTITIONED;
    if (events === undefined) throw new TypeError('there are no tables');
    await test.service.transaction().execute((trx) => recordDropped(trx, events, 'audit_events_2025_01'));
    expect(await sealAll()).toBe(before + 1);
    const change = sql`update gaps set began_at = '2020-01-01' where reason = 'retention'`;
    expect(await tampered(change, 'gaps')).toMatchObject([{ state: 'ALTERED', subject: 'gap' }]);
  });

  it('are named when they were changed, deleted or inserted', async () => {
    await recordEnded(test.service, { operator, action: 'sql.query', subject: 'all' });
    await sealAll();
    const last = sql`(select max(id) from operator_log)`;
    const changes = {
      ALTERED: sql`update operator_log set operator = 'joe' where id = ${last}`,
      MISSING: sql`delete from operator_log where id = ${last}`,
      INSERTED: sql`insert into operator_log (operator, via, action) values ('joe', 'api', 'x')`,
    };
    for (const [state, change] of Object.entries(changes))
      expect(await tampered(change, 'operator_log')).toMatchObject([{ state, subject: 'operation' }]);
    const forged = sql`update log_statements set record = replace(record, 'jane', 'joe') where leaf = 0`;
    expect(await tampered(forged, 'log_statements')).toContainEqual(
      expect.objectContaining({ state: 'ALTERED', subject: 'operation', leaves: [0, 1] }),
    );
    const stray = sql`insert into log_statements (leaf, kind, key, record) values (-5, 'operation', '1', '[]')`;
    expect(await tampered(stray, 'log_statements')).toContainEqual(
      expect.objectContaining({ state: 'INSERTED', subject: 'operation', key: '1', leaves: [-5, -4] }),
    );
    const cut = sql`delete from log_statements where leaf = 1`;
    expect(await tampered(cut, 'log_statements')).toContainEqual(
      expect.objectContaining({ state: 'MISSING', leaves: [1, 2] }),
    );
  });

  it('are named when a lower state comes back, or the statement of another row is put in place of theirs', async () => {
    const findings = await tampered(
      sql`update operator_log set outcome = null, ended_at = null, result = null where id = 1;
        update log_statements set key = '2' where leaf = 1`,
      'operator_log',
      'log_statements',
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
    const changes = {
      ALTERED: sql`update deliveries set expected_count = 1, duplicate_count = 1 where delivery_id = ${first}`,
      MISSING: sql`delete from deliveries where delivery_id = ${first}`,
      INSERTED: sql`insert into deliveries (delivery_id, received_at, body_bytes, record_count, expected_count, event_count,
          duplicate_count, quarantined_count, source, message_type, origin, xid)
        values ('6a5a4c7e-0000-4000-8000-00000000000f', '2026-03-01', 1, 0, 0, 0, 0, 0, 'x', 'AUDIT_LOG_ALL', 'webhook', '5')`,
    };
    for (const [state, change] of Object.entries(changes))
      expect(await tampered(change, 'deliveries')).toMatchObject([{ state, subject: 'delivery' }]);
  });
});

it.each([
  ['a column that lasts', '1', sql`subject = 'nothing'`],
  ['a column that is written once', '2', sql`outcome = 'failed'`],
])(
  'a change that is not allowed is named while it waits to be sealed, and when it was: %s',
  async (_what, key, changed) => {
    const named = async () => (await log.verify()).findings.filter((one) => one.key === key);
    await freely(test.db, sql`update operator_log set ${changed} where id = ${key}`);
    await test.query`insert into log_queue (kind, key) values ('operation', ${key})`;
    const finding = {
      state: 'ALTERED',
      subject: 'operation',
      detail: expect.stringContaining('not allow') as unknown,
    };
    expect(await named()).toMatchObject([finding]);
    await sealAll();
    expect(await named()).toMatchObject([finding]);
  },
);
