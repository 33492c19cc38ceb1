import { expect, test } from 'vitest';
import { loadSettings } from '../../src/serve/load-settings.ts';
import { recordStart } from '../../src/serve/start-role-parts.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { SECRET } from '../support/program.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();

const start = async (role: 'all' | 'worker', settings: Record<string, string> = {}) => {
  const config = loadSettings({ WEBHOOK_SECRET: SECRET, DATA_DIR: '/data', ...settings });
  await recordStart(database.db, config, role);
  const [entry] = await listActions(database.db, { limit: 1 });
  return entry;
};

test('a start is recorded with its settings, without secrets, and with what differs from the last one of its role', async () => {
  const first = await start('all', { LOG_LEVEL: 'debug' });
  expect(first).toMatchObject({
    operator: 'xiq-sink',
    via: 'system',
    action: 'service.start',
    subject: 'all',
    outcome: 'done',
    result: { settings: { dataDir: '/data', logLevel: 'debug' } },
  });
  expect(first?.details).toEqual({});
  expect((await start('worker', { LOG_LEVEL: 'warn' }))?.details).toEqual({});
  expect((await start('all', { LOG_LEVEL: 'debug' }))?.details).toEqual({ changed: {} });
  const next = await start('all', { LOG_LEVEL: 'warn', PUBLIC_URL: 'https://events.example.com' });
  expect(next?.details).toEqual({
    changed: {
      logLevel: { from: 'debug', to: 'warn' },
      publicUrl: { from: null, to: 'https://events.example.com' },
    },
  });
  expect(JSON.stringify(await listActions(database.db, { limit: 10 }))).not.toContain(SECRET);
});
