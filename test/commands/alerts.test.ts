import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { saveRuleStep } from '../../src/store/alerts/alerts.ts';
import { storeDeliveries } from '../support/actions.ts';
import { endOfCommand } from '../support/command.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { useDatabase } from '../support/use-database.ts';
import { useDirectory } from '../support/use-directory.ts';

const test = useDatabase({ logs: true });
const directory = useDirectory();
const config = path.join(directory, 'settings.yaml');
const KEYS = { name: 'keys', title: 'Keys made', severity: 'high', count: 3, within: '1h' } as const;
const at = '2026-03-01T08:00:00.000Z';

beforeAll(async () => {
  const rule = { ...KEYS, filter: { kinds: ['ppskCreated'] }, group_by: ['user_name'] };
  await writeFile(config, JSON.stringify({ alerts: [rule] }));
  const records = [0, 1, 2].map((userId) =>
    auditRecord({ code: 40_001, userId, userName: 'jane@example.com' }),
  );
  await storeDeliveries(test.db, queuedDelivery('AUDIT_LOG_ALL', records));
  const alert = { rule: 'keys', title: KEYS.title, severity: 'high', source: 'default', count: 3 } as const;
  await test.db.transaction().execute((trx) =>
    saveRuleStep(trx, {
      position: 0,
      rules: {},
      states: [],
      alerts: [{ ...alert, group: { user_name: 'jane@example.com' }, firstAt: at, lastAt: at, causes: [] }],
    }),
  );
});

const run = (...words: string[]) =>
  endOfCommand({ DATABASE_URL: test.databaseUrl, XIQ_SINK_CONFIG: config }, 'alerts', ...words);

it('alerts are listed by rule and range, as a table and as JSON', async () => {
  expect((await run('list')).stdout).toMatch(/ high +keys +default +user_name jane@example\.com +3 /);
  const json = await run('list', '--rule', 'keys', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({ rule: 'keys', severity: 'high', count: 3 });
  const other = await run('list', '--rule', 'many-keys-made');
  expect(other.stderr).toContain('no alerts were raised in this range');
});

it('a rule is tested on what is stored, and one that does not exist is wrong usage with the nearest', async () => {
  const { stdout, stderr } = await run('test', 'keys', '--since', '1h');
  expect(stdout).toContain('user_name jane@example.com  3');
  expect(stderr).toContain('rule keys would have raised 1 alert from ');
  const json = await run('test', 'keys', '--since', '1h', '--json');
  expect(JSON.parse(json.stdout)).toMatchObject({ rule: 'keys', count: 3 });
  expect(json.stderr).not.toContain('showing the first');
  const quiet = await run('test', 'many-keys-made');
  expect([quiet.code, quiet.stderr]).toEqual([0, expect.stringContaining('would have raised no alert')]);
  const wrong = await run('test', 'many-key-made');
  expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('Did you mean many-keys-made?')]);
});
