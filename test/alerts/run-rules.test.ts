import { randomBytes } from 'node:crypto';
import { sql } from 'kysely';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseRules } from '../../src/alerts/parse-rules.ts';
import { createRuleRunner } from '../../src/alerts/run-rules.ts';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { alertsToStore, saveRuleStep } from '../../src/store/alerts/alerts.ts';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { openLog } from '../../src/store/log/read-log.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { forwardingSettings } from '../support/forwarding-settings.ts';
import { untilSeen } from '../support/until-seen.ts';

const rulesOf = (...alerts: readonly object[]) => parseRules(forwardingSettings({ alerts }));

const BURST = { name: 'burst', filter: { codes: [40_001] }, count: 3, within: '1h', group_by: ['user_name'] };

let test: TestDatabase;
let db: Db;
let raised: string[];
beforeEach(async () => {
  test = await createTestDatabase();
  db = openDatabase(test.databaseUrl, () => undefined);
  raised = [];
});
afterEach(async () => {
  await db.destroy();
  await test.drop();
});

const createRunner = () => createRuleRunner(db, openLog(db), (rule) => raised.push(rule));

let minute = 0;
async function store(userName: string, count: number, more = {}): Promise<void> {
  const records = Array.from({ length: count }, () => {
    minute += 1;
    return auditRecord({
      timeStamp: Date.UTC(2026, 2, 2, 9, minute % 60),
      userId: minute,
      code: 40_001,
      userName,
      ...more,
    });
  });
  const storeBatch = new BatchStore(db, pino({ level: 'silent' }), new AbortController().signal);
  await storeBatch.add({ deliveries: [queuedDelivery('AUDIT_LOG_ALL', records)] });
  await untilSeen(test.db);
}

async function runAll(runner: ReturnType<typeof createRuleRunner>, rules = rulesOf(BURST)): Promise<void> {
  while ((await runner.step(rules)) === 'more');
}

const states = async () =>
  (await sql<{ rule: string }>`select rule from rule_states order by 1`.execute(test.db)).rows.map(
    ({ rule }) => rule,
  );

describe('the rules', () => {
  it('have the alerts of a source stored first that raised few', async () => {
    const alert = { rule: 'r', title: 'R', severity: 'low', group: {}, count: 1, causes: [] } as const;
    const [firstAt, lastAt] = ['2026-03-02T09:00:00.000Z', '2026-03-02T09:00:00.000Z'];
    const alerts = [...Array<string>(1_001).fill('flood'), 'other', 'other'].map((source) => ({
      ...alert,
      source,
      firstAt,
      lastAt,
    }));
    await db
      .transaction()
      .execute((trx) => saveRuleStep(trx, { position: 0, rules: {}, states: [], alerts }));
    const first = await alertsToStore(db, 6);
    expect(first.map(({ source }) => source)).toEqual(['flood', 'other', 'flood', 'other', 'flood', 'flood']);
    expect(await alertsToStore(db, 2_000)).toHaveLength(alerts.length);
  });

  it('see each event once, whatever process evaluates it', async () => {
    const [one, other] = [createRunner(), createRunner()];
    await runAll(one);
    await store('jane', 2);
    await runAll(one);
    expect(raised).toEqual([]);
    await store('jane', 1);
    await runAll(other);
    expect(raised).toEqual(['burst']);
    await runAll(one);
    await store('joe', 2);
    await runAll(one);
    await store('joe', 1);
    await runAll(one);
    expect(raised).toEqual(['burst', 'burst']);
    const { rows } =
      await sql`select rule, severity, source, grouped_by, event_count, jsonb_array_length(causes) as causes from alerts order by id`.execute(
        test.db,
      );
    const alert = { rule: 'burst', severity: 'medium', source: 'default', event_count: 3, causes: 3 };
    expect(rows).toEqual([
      { ...alert, grouped_by: { user_name: 'jane' } },
      { ...alert, grouped_by: { user_name: 'joe' } },
    ]);
  });

  it('compare whole texts, however long they are, and show the beginning of them', async () => {
    const runner = createRunner();
    const byText = rulesOf(BURST, { ...BURST, name: 'text', group_by: ['description'] });
    await runAll(runner, byText);
    const description = randomBytes(3_000).toString('base64');
    for (const end of ['one', 'other', 'one', 'other'])
      await store(end, 1, { description: description + end });
    await runAll(createRunner(), byText);
    await store('one', 1, { description: `${description}one` });
    await runAll(runner, byText);
    expect(raised.toSorted()).toEqual(['burst', 'text']);
    const { rows } = await sql`select grouped_by from alerts where rule = 'text'`.execute(test.db);
    expect(rows).toEqual([{ grouped_by: { description: `${description.slice(0, 512)}…` } }]);
  });

  it('begin with what enters the log after they were switched on', async () => {
    await store('jane', 3);
    const runner = createRunner();
    await runAll(runner);
    await store('joe', 3);
    await runAll(runner);
    expect(raised).toEqual(['burst']);
  });

  it('forget what they remember when their settings change', async () => {
    const runner = createRunner();
    await runAll(runner);
    await store('jane', 2);
    await runAll(runner);
    expect(await states()).toEqual(['burst']);
    await runAll(runner, rulesOf({ ...BURST, within: '30m' }, { use: 'many-keys-made' }));
    await store('jane', 1);
    await runAll(runner, rulesOf({ ...BURST, within: '30m' }, { use: 'many-keys-made' }));
    expect(raised).toEqual([]);
    expect(await states()).toEqual(['burst', 'many-keys-made']);
    await runAll(runner, []);
    expect(await states()).toEqual([]);
  });

  it('undo a step that failed', async () => {
    const runner = createRunner();
    await runAll(runner);
    await store('jane', 3);
    await sql`alter table alerts add constraint broken check (false) not valid`.execute(test.db);
    await expect(runAll(runner)).rejects.toThrow('broken');
    await sql`alter table alerts drop constraint broken`.execute(test.db);
    await runAll(runner);
    expect(raised).toEqual(['burst']);
  });

  // A transaction id is taken only by a write; the ids themselves are counted for the whole server, so other
  // databases and autovacuum move them too.
  it('write nothing while nothing happens', async () => {
    await runAll(createRunner());
    const readOnly = new URL(test.databaseUrl);
    readOnly.searchParams.set('options', '-c default_transaction_read_only=on');
    const reader = openDatabase(readOnly.href, () => undefined);
    try {
      const runner = createRuleRunner(reader, openLog(reader), (rule) => raised.push(rule));
      for (let round = 0; round < 20; round += 1) await runAll(runner);
      await store('jane', 3);
      await expect(runAll(runner)).rejects.toThrow('read-only');
    } finally {
      await reader.destroy();
    }
  });
});
