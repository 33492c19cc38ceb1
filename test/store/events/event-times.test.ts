import { expect, it } from 'vitest';
import { countAhead, countUnreadTimes } from '../../../src/store/events/event-times.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();

it('events without a readable time, and events from the future, are counted by source and type', async () => {
  const times = ['last Tuesday', undefined, Date.now() - 60_000, Date.now() + 3_600_000];
  const records = times.map((timeStamp, userId) => auditRecord({ userId, timeStamp }));
  const other = queuedDelivery('OTHER', [{ anything: 1 }], { source: 'branch' });
  await storeDeliveries(test.db, queuedDelivery('AUDIT_LOG_ALL', records, { source: 'branch' }), other);
  const counted = { source: 'branch', messageType: 'AUDIT_LOG_ALL' };
  expect(await countUnreadTimes(test.db)).toEqual([{ ...counted, events: 2 }]);
  expect(await countAhead(test.db)).toEqual([{ ...counted, events: 1 }]);
});
