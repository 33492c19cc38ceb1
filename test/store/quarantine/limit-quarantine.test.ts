import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { limitQuarantine } from '../../../src/store/quarantine/limit-quarantine.ts';
import { listActions } from '../../../src/store/access/operator-log.ts';
import { countReceivedItems, resolveAsReplayed } from '../../../src/store/quarantine/quarantine.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { useDatabase } from '../../support/use-database.ts';
import { queuedDelivery } from '../../support/deliveries.ts';
import { storeDeliveries } from '../../support/actions.ts';

const NOW = new Date('2031-06-15T12:00:00Z');
const KIB = 1024;

const test = useDatabase({ forEach: true });

/** Quarantines one item of 1 KiB for each time. */
async function quarantine(source: string, ...times: readonly string[]): Promise<void> {
  const deliveries = times.map((time) =>
    queuedDelivery('AUDIT_LOG_ALL', [], {
      source,
      receivedAt: Date.parse(time),
      unreadable: [{ reason: time, content: Buffer.alloc(KIB, 'x').toString('base64') }],
      recordCount: 1,
    }),
  );
  await storeDeliveries(test.service, ...deliveries);
}

/** The reasons of the items whose content is still there. */
async function kept(source: string): Promise<string[]> {
  const rows = await test.query<{ reason: string }>`
    select reason from quarantine where source = ${source} and content <> '' order by reason`;
  return rows.map(({ reason }) => reason);
}

const days = (count: number) =>
  Array.from({ length: count }, (_, n) => `2031-06-${String(n + 1).padStart(2, '0')}`);

it('deletes the oldest content of a source beyond its size, and all counts still add up', async () => {
  await quarantine('noisy', ...days(12));
  await quarantine('quiet', ...days(10));
  const limits = { maxBytes: 10 * KIB, months: undefined };
  expect(await limitQuarantine(test.service, NOW, limits)).toEqual([
    { source: 'noisy', reason: 'size', items: 3, bytes: 3 * KIB },
  ]);
  expect(await kept('noisy')).toEqual(days(12).slice(3));
  expect(await kept('quiet')).toEqual(days(10));
  const rows = await test.query`
    select source, adds_up, open_count, discarded_count from conservation order by source`;
  expect(rows).toEqual([
    { source: 'noisy', adds_up: true, open_count: '9', discarded_count: '3' },
    { source: 'quiet', adds_up: true, open_count: '10', discarded_count: '0' },
  ]);
  expect(await limitQuarantine(test.service, NOW, limits)).toEqual([]);
});

it('is recorded in the operator log, with the reason and the sums', async () => {
  await quarantine('noisy', ...days(2));
  await limitQuarantine(test.service, NOW, { maxBytes: KIB, months: undefined });
  expect(await listActions(test.service, { limit: 10 })).toMatchObject([
    {
      operator: 'xiq-sink',
      via: 'system',
      action: 'quarantine.discard',
      subject: 'noisy',
      details: { reason: 'size', max_bytes: KIB, bytes: 2 * KIB },
      outcome: 'done',
      result: { items: 2, bytes: 2 * KIB },
    },
  ]);
});

it('deletes the content of months that retention has passed', async () => {
  await quarantine('old', '2031-03-31', '2031-04-01', '2031-06-01');
  expect(await limitQuarantine(test.service, NOW, { maxBytes: 1024 * KIB, months: 2 })).toEqual([
    { source: 'old', reason: 'age', items: 1, bytes: KIB },
  ]);
  expect(await kept('old')).toEqual(['2031-04-01', '2031-06-01']);
});

it('deletes what was replayed before anything open, and it stays replayed', async () => {
  await quarantine('both', ...days(4));
  const rows = await test.query<{ quarantineId: string; deliveryId: string }>`
    select quarantine_id as "quarantineId", delivery_id as "deliveryId" from quarantine
    order by received_at desc limit 2`;
  await test.service.transaction().execute((trx) => resolveAsReplayed(trx, rows));
  await limitQuarantine(test.service, NOW, { maxBytes: 3 * KIB, months: undefined });
  expect(await kept('both')).toEqual(days(4).slice(0, 2));
  const items = await test.query`
    select resolution, discarded_bytes from quarantine order by received_at`;
  expect(items).toEqual([
    { resolution: null, discarded_bytes: null },
    { resolution: null, discarded_bytes: null },
    { resolution: 'replayed', discarded_bytes: KIB },
    { resolution: 'replayed', discarded_bytes: KIB },
  ]);
  expect(await countReceivedItems(test.service, ALL_SOURCES, {})).toEqual({
    open: 2,
    replayed: 2,
    discarded: 0,
  });
});

it('counts each item once when several processes do it at the same time', async () => {
  await quarantine('noisy', ...days(20));
  const limits = { maxBytes: 10 * KIB, months: undefined };
  const results = await Promise.all([1, 2, 3].map(() => limitQuarantine(test.service, NOW, limits)));
  expect(results.flat().reduce((sum, { items }) => sum + items, 0)).toBe(11);
  expect(await kept('noisy')).toHaveLength(9);
});

it.each([
  ['the content of a replayed item, to something else', sql`content = 'forged'`],
  ['the size of what was deleted', sql`content = '', discarded_bytes = 1`],
  [
    'what a replayed item became',
    sql`content = '', discarded_bytes = 1024, replay_delivery_id = delivery_id, resolved_at = now()`,
  ],
])('nobody changes %s', async (_, change) => {
  await quarantine('guarded', '2031-06-01');
  const rows = await test.query<{ quarantineId: string; deliveryId: string }>`
    select quarantine_id as "quarantineId", gen_random_uuid() as "deliveryId" from quarantine`;
  await test.service.transaction().execute((trx) => resolveAsReplayed(trx, rows));
  await expect(sql`update quarantine set ${change}`.execute(test.service)).rejects.toThrow(
    'what is stored stays as it was written',
  );
});
