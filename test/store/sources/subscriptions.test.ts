import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  findSubscriptions,
  forgetSubscription,
  recordSubscription,
  replaceSubscriptions,
  whileSubscribing,
  type RecordedSubscription,
} from '../../../src/store/sources/subscriptions.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();
beforeEach(async () => {
  await test.db.deleteFrom('subscriptions').execute();
});

/** Beyond what a JavaScript number holds. */
const LARGE_ID = '9223372036854775807';

const subscription = (overrides: Partial<RecordedSubscription> = {}): RecordedSubscription => ({
  subscription_id: '1',
  source: 'default',
  message_type: 'AUDIT_LOG_ALL',
  url: 'https://sink.test/ingest/default/AUDIT_LOG_ALL',
  application: 'xiq-sink',
  status: 'ENABLED',
  secret_digest: 'ab'.repeat(32),
  ...overrides,
});

const find = () => findSubscriptions(test.db, 'default');

/** The times to the microsecond: within a millisecond a subscription can be recorded twice. */
async function times() {
  return test.db
    .selectFrom('subscriptions')
    .select([sql<string>`created_at::text`.as('created'), sql<string>`updated_at::text`.as('updated')])
    .executeTakeFirstOrThrow();
}

describe('a subscription', () => {
  it('is found by its source as it was written down, its id exactly', async () => {
    const large = subscription({ subscription_id: LARGE_ID, secret_digest: null });
    await recordSubscription(test.db, large);
    await recordSubscription(test.db, subscription({ source: 'other' }));
    expect(await find()).toEqual([large]);
  });

  it('is changed in its place, and keeps the time of its creation', async () => {
    await recordSubscription(test.db, subscription());
    const before = await times();
    await recordSubscription(test.db, subscription({ status: 'DISABLED' }));
    const after = await times();
    expect(await find()).toEqual([subscription({ status: 'DISABLED' })]);
    expect(after.created).toBe(before.created);
    expect(after.updated > before.updated).toBe(true);
  });

  it('keeps its times when nothing has changed, members without a value included', async () => {
    await recordSubscription(test.db, subscription({ secret_digest: null }));
    const before = await times();
    await recordSubscription(test.db, subscription({ secret_digest: null }));
    expect(await times()).toEqual(before);
  });

  it('is changed by a value where there was none', async () => {
    await recordSubscription(test.db, subscription({ secret_digest: null }));
    await recordSubscription(test.db, subscription());
    expect(await find()).toEqual([subscription()]);
  });

  it('is forgotten by its id, or by type and url while the id is not known', async () => {
    const noId = subscription({ subscription_id: null });
    const others = [
      subscription({ subscription_id: '2' }),
      subscription({ subscription_id: null, message_type: 'SMS_LOG_ALL' }),
      subscription({ subscription_id: null, url: 'https://elsewhere.test/' }),
    ];
    for (const one of [subscription(), noId, ...others]) await recordSubscription(test.db, one);
    await forgetSubscription(test.db, noId);
    await forgetSubscription(test.db, subscription());
    expect(await find()).toEqual(others);
  });
});

it('what is written down of a source is replaced as a whole, and no other source with it', async () => {
  const kept = subscription({ subscription_id: '2' });
  const other = subscription({ source: 'other' });
  for (const one of [subscription(), subscription({ subscription_id: null }), other])
    await recordSubscription(test.db, one);
  await replaceSubscriptions(test.db, 'default', [kept, subscription({ subscription_id: LARGE_ID })]);
  expect(await find()).toEqual([kept, subscription({ subscription_id: LARGE_ID })]);
  await replaceSubscriptions(test.db, 'default', []);
  expect(await find()).toEqual([]);
  expect(await findSubscriptions(test.db, 'other')).toEqual([other]);
});

it('another source is not kept waiting while somebody changes the subscriptions of one', async () => {
  const other = () => whileSubscribing(test.db, 'other', async () => 'done');
  expect(await whileSubscribing(test.db, 'default', other)).toBe('done');
});
