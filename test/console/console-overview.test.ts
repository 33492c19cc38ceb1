import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { overviewOptions } from '../../src/serve/console-overview.ts';
import { deliverAndCount } from '../support/arrivals.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();

const MINUTE = 60_000;

test('a delivery ends a silence at once, although the watch looks once a minute', async () => {
  const before = new Date(Date.now() - 39_000);
  const { silences } = overviewOptions(loadConfig({}), database.db, () => [], {
    readiness: async () => ({ checks: [] }),
    queue: async () => ({ waiting: 0, active: 0, delayed: 0, failed: 0, oldestWaitingSeconds: undefined }),
    watched: () => [
      {
        source: 'default',
        messageType: 'AUDIT_LOG_ALL',
        lastReceivedAt: new Date(Date.now() - 60 * MINUTE),
        state: 'unusual',
        silentSeconds: 3_600,
        expected: 100,
        longestUsualSeconds: 60,
      },
    ],
    secretFile: undefined,
  });
  expect(await silences()).toMatchObject([{ state: 'unusual' }]);
  await deliverAndCount(database.db, { receivedAt: before, messageType: 'AUDIT_LOG_ALL' });
  expect(await silences()).toMatchObject([{ state: 'usual', lastReceivedAt: before }]);
});
