import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { startAlerting } from '../../src/alerts/start-alerting.ts';
import { parseRules } from '../../src/alerts/parse-rules.ts';
import { createRuleRunner } from '../../src/alerts/run-rules.ts';
import { openDatabase, type Db } from '../../src/store/server/database.ts';
import { alertsToStore, readRuleProgress, saveRuleStep } from '../../src/store/alerts/alerts.ts';
import { putOutput } from '../../src/store/destinations/added-outputs.ts';
import { openLog } from '../../src/store/log/read-log.ts';
import { storeDeliveries } from '../support/actions.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { forwardingSettings } from '../support/forwarding-settings.ts';
import { untilSeen } from '../support/until-seen.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';

const rulesOf = (...alerts: readonly object[]) => parseRules(forwardingSettings({ alerts }));

const BURST = { name: 'burst', filter: { codes: [40_001] }, count: 3, within: '1h', group_by: ['user_name'] };

const test = useDatabase({ forEach: true });
let db: Db;
let raised: string[];
beforeEach(() => {
  db = test.service;
  raised = [];
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
  await storeDeliveries(db, queuedDelivery('AUDIT_LOG_ALL', records));
  await untilSeen(test.db);
}

async function runAll(runner: ReturnType<typeof createRuleRunner>, rules = rulesOf(BURST)): Promise<void> {
  while ((await runner.step(rules)) === 'more');
}

const states = async () =>
  (await test.query<{ rule: string }>`select rule from rule_states order by 1`).map(({ rule }) => rule);

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
    const rows = await test.query`
      select rule, severity, source, grouped_by, event_count, jsonb_array_length(causes) as causes
      from alerts order by id`;
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
    const rows = await test.query`select grouped_by from alerts where rule = 'text'`;
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

  it('are evaluated a thousand events at a time', async () => {
    const runner = createRunner();
    await runAll(runner);
    await store('jane', 1_000);
    await store('joe', 3);
    expect(await runner.step(rulesOf(BURST))).toBe('more');
    expect(raised).toEqual(['burst']);
    expect(await runner.step(rulesOf(BURST))).toBe('done');
    expect(raised).toEqual(['burst', 'burst']);
    expect(await runner.step(rulesOf(BURST))).toBe('idle');
  });

  it('of settings and database raise alerts that become events, which raise none themselves', async () => {
    await using started = new AsyncDisposableStack();
    const config = { rules: rulesOf(), erasureKeyFile: undefined };
    await runAll(createRunner());
    startAlerting(
      { db, config, onAlert: (rule) => raised.push(rule), logger: pino({ level: 'silent' }) },
      started,
    );
    // Rules that an earlier process knew are forgotten.
    await waitFor(async () => Object.keys((await readRuleProgress(db)).rules).length === 0);
    config.rules = rulesOf({ ...BURST, title: 'Many', destinations: [] });
    const added = { name: 'any', filter: {} };
    await putOutput(db, { kind: 'rule', name: added.name, definition: added });
    await waitFor(async () => (await readRuleProgress(db)).rules['any']);
    await store('jane', 3);
    const alerts = await waitFor(async () => {
      const rows = await test.query<{
        payload: object;
      }>`select payload from other_events order by payload->>'rule'`;
      return rows.length === 4 ? rows.map(({ payload }) => payload) : undefined;
    });
    await untilSeen(test.db);
    const { next } = await openLog(db).range();
    await waitFor(async () => (await readRuleProgress(db)).position === next);
    expect(raised.toSorted()).toEqual(['any', 'any', 'any', 'burst']);
    expect(alerts.at(-1)).toMatchObject({
      rule: 'burst',
      summary: expect.stringMatching(/^Many, user_name jane: 3 events from \S+Z to \S+Z$/) as unknown,
      group: { user_name: 'jane' },
      count: 3,
      destinations: [],
    });
    expect(alerts[0]).toMatchObject({ rule: 'any', title: 'any', destinations: null });
    // Rules that are switched off forget, and what was stored is not stored again.
    config.rules = [];
    await test.query`delete from added_outputs`;
    await waitFor(async () => Object.keys((await readRuleProgress(db)).rules).length === 0);
    expect(await alertsToStore(db, 9)).toEqual([]);
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
    await test.query`alter table alerts add constraint broken check (false) not valid`;
    await expect(runAll(runner)).rejects.toThrow('broken');
    await test.query`alter table alerts drop constraint broken`;
    await runAll(runner);
    expect(raised).toEqual(['burst']);
  });

  // A transaction id is taken only by a write; the ids themselves are counted for the whole server, so other
  // databases and autovacuum move them too.
  it('write nothing while nothing happens', async () => {
    await runAll(createRunner());
    const readOnly = new URL(test.databaseUrl);
    readOnly.searchParams.set('options', '-c default_transaction_read_only=on');
    await using reader = openDatabase(readOnly.href, () => undefined);
    const runner = createRuleRunner(reader, openLog(reader), (rule) => raised.push(rule));
    for (let round = 0; round < 20; round += 1) await runAll(runner);
    await store('jane', 3);
    await expect(runAll(runner)).rejects.toThrow('read-only');
  });
});
