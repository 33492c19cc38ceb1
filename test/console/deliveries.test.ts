import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deliveriesArea } from '../../src/console/deliveries/deliveries-area.ts';
import { eventsOfDelivery, findDelivery } from '../../src/store/deliveries/search-deliveries.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { unguarded } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { useConsole } from '../support/use-console.ts';

const HOUR = 3_600_000;
const NOW = Date.now();

const record = auditRecord({ timeStamp: NOW - 50 * HOUR, description: 'of two days ago' });
const plain = queuedDelivery('AUDIT_LOG_ALL', [record, auditRecord({ timeStamp: NOW })], {
  receivedAt: NOW - HOUR / 2,
});
const again = queuedDelivery('AUDIT_LOG_ALL', [record], { receivedAt: NOW - 2 * HOUR });
const broken = unreadableDelivery('{', { receivedAt: NOW - 40 * 24 * HOUR });
const sms = queuedDelivery('SMS_LOG_ALL', [{ tel: '1' }], { receivedAt: NOW - 3 * HOUR, source: 'north' });

const admin = useConsole((db) => [deliveriesArea({ db })], {
  seed: async (db) => {
    for (const delivery of [plain, again, broken, sms]) await storeDeliveries(db, delivery);
  },
});

const listed = z.object({
  items: z.array(z.object({ delivery_id: z.string() })),
  next_cursor: z.string().nullable(),
});

async function list(query: string) {
  const { items, ...rest } = listed.parse(await admin.get(`/deliveries${query}`));
  return { ids: items.map((item) => item.delivery_id), ...rest };
}

describe('the list of deliveries', () => {
  it('has the newest first, however far back, page by page', async () => {
    const ids: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const page = await list(`?limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`);
      ids.push(...page.ids);
      cursor = page.next_cursor;
    }
    expect(ids).toEqual([plain, again, sms, broken].map((one) => one.deliveryId));
  });

  it.each([
    ['source', '?source=north', [sms]],
    ['type', '?type=SMS_LOG_ALL', [sms]],
    ['a short time', `?since=90m&until=${new Date(NOW - HOUR).toISOString()}`, []],
    ['time', `?since=150m&until=${new Date(NOW - HOUR).toISOString()}`, [again]],
  ])('is filtered by %s', async (_by, query, expected) => {
    expect((await list(query)).ids).toEqual(expected.map((one) => one.deliveryId));
  });

  it('is a page with a link to each, and says so when nothing matches', async () => {
    expect(await admin.page('/deliveries')).toContain(`href="/deliveries/${plain.deliveryId}"`);
    expect(await admin.page('/deliveries?source=none')).toContain('No deliveries match');
  });
});

describe('one delivery', () => {
  it('has its events, whenever they happened', async () => {
    const answer = await admin.get(`/deliveries/${plain.deliveryId}`);
    expect(answer).toMatchObject({
      delivery: { expected_count: 2, event_count: 2 },
      events: [{}, {}],
      quarantined: [],
      replay_of: null,
    });
    expect(JSON.stringify(answer)).toContain('of two days ago');
  });

  it('has what of it went to quarantine', async () => {
    expect(await admin.get(`/deliveries/${broken.deliveryId}`)).toMatchObject({
      events: [],
      quarantined: [{ reason: 'the body is not JSON', state: 'open' }],
    });
    expect(await admin.page(`/deliveries/${broken.deliveryId}`)).toContain('the body is not JSON');
  });

  it('has the type as it was sent, only of a type that this program does not know', async () => {
    const other = queuedDelivery('OTHER', [{ note: 'new' }], { sentType: 'SOMETHING_NEW' });
    await storeDeliveries(admin.db, other);
    expect(await admin.get(`/deliveries/${other.deliveryId}`)).toMatchObject({
      delivery: { message_type: 'OTHER', sent_type: 'SOMETHING_NEW' },
    });
    expect(await admin.page(`/deliveries/${other.deliveryId}`)).toContain('<dd>SOMETHING_NEW<');
    expect(await admin.get(`/deliveries/${plain.deliveryId}`)).toMatchObject({
      delivery: { sent_type: null },
    });
    expect(await admin.page(`/deliveries/${plain.deliveryId}`)).not.toContain('Sent as');
  });

  it('of before deliveries knew their transaction is looked for in time, and given up honestly', async () => {
    await unguarded(admin.db, sql`update deliveries set xid = null`);
    const old = await findDelivery(admin.db, ALL_SOURCES, plain.deliveryId);
    if (old === undefined) throw new Error('it is not there');
    expect(await eventsOfDelivery(admin.db, ALL_SOURCES, old, 10)).toHaveLength(2);
    expect(await eventsOfDelivery(admin.db, ALL_SOURCES, { ...old, event_count: 3 }, 10)).toBeUndefined();
  });

  it.each([
    ['?cursor=abc', 400],
    ['/01a20087-2e5c-7687-826d-5999ab661330', 404],
  ])('is refused under an address that leads nowhere: %s %i', async (address, status) => {
    await expect(admin.get(`/deliveries${address}`)).rejects.toThrow(`answered ${status}`);
  });
});
