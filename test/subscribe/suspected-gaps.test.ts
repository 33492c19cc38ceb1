import { pino } from 'pino';
import { expect, it } from 'vitest';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { listGaps } from '../../src/store/reconcile/gaps.ts';
import { createGapRecorder } from '../../src/subscribe/start-subscription-watch.ts';
import type { Change } from '../../src/subscribe/plan.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase();

const desired = (messageType: 'AUDIT_LOG_ALL' | 'SMS_LOG_ALL' | 'EMAIL_LOG_ALL') =>
  ({ application: 'a', url: 'https://a.test', secret: 'secret', messageType, status: 'ENABLED' }) as const;

const actual = (messageType: string, status = 'ENABLED') => ({
  id: '1',
  application: 'a',
  url: 'https://b.test',
  messageType,
  status,
  secretDigest: undefined,
});

const OFF: Change = { action: 'create', desired: desired('AUDIT_LOG_ALL') };
const DISABLED: Change = {
  action: 'update',
  actual: actual('SMS_LOG_ALL', 'DISABLED'),
  desired: desired('SMS_LOG_ALL'),
  differences: [{ member: 'status', from: 'DISABLED', to: 'ENABLED' }, { member: 'secret' }],
};
const MOVED: Change = {
  action: 'update',
  actual: actual('EMAIL_LOG_ALL'),
  desired: desired('EMAIL_LOG_ALL'),
  differences: [{ member: 'url', from: 'https://b.test', to: 'https://a.test' }],
};
const RENAMED: Change = { ...MOVED, differences: [{ member: 'application', from: 'b', to: 'a' }] };
const SURPLUS: Change = { action: 'delete', actual: actual('GDPR_LOG_ALL'), reason: 'duplicate' };

it('records since the check before which subscriptions were off or changed, until they are not', async () => {
  const record = createGapRecorder(test.db, pino({ level: 'silent' }));
  const gaps = async () => {
    const found = await listGaps(test.db, ALL_SOURCES, { since: new Date(0), until: new Date() });
    return found.toSorted((a, b) => ((a.message_type ?? '') < (b.message_type ?? '') ? -1 : 1));
  };
  await record('branch', [RENAMED, SURPLUS]);
  const before = new Date();
  await record('branch', [OFF, DISABLED, MOVED]);
  const found = await gaps();
  expect(found).toMatchObject([
    { source: 'branch', message_type: 'AUDIT_LOG_ALL', reason: 'subscription off', ended_at: null },
    { message_type: 'EMAIL_LOG_ALL', reason: 'subscription changed', detail: { changed: ['url'] } },
    { message_type: 'SMS_LOG_ALL', reason: 'subscription off', detail: { status: 'DISABLED' } },
  ]);
  expect(found.every(({ began_at: began }) => began <= before)).toBe(true);
  await record('branch', [DISABLED]);
  expect((await gaps()).map(({ ended_at: ended }) => ended === null)).toEqual([false, false, true]);
});
