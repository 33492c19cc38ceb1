import * as fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { sql } from 'kysely';
import { alertRuleSchema, type AlertRule } from '../../src/alerts/alert-rule.ts';
import { backtestRule } from '../../src/alerts/backtest-rule.ts';
import { readsArchive } from '../../src/archive/archive-database.ts';
import { rewindDestination } from '../../src/store/destinations/change-destination.ts';
import { listArchivedFiles } from '../../src/store/archive/archived-files.ts';
import type { Db } from '../../src/store/server/database.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { readOnlyQuery } from '../../src/store/server/read-only-query.ts';
import { POOL, STORED } from '../store/events/varied-events.ts';
import { useDatabase } from '../support/use-database.ts';
import { OPERATOR, useArchive } from './archived-months.ts';

const test = useDatabase({ isVaried: true });
const archived = useArchive(test);

const TABLES = ['audit_events', 'location_observations', 'log_entries', 'alerts_received', 'other_events'];

/** What people ask in SQL, with everything that the archive reads in another way than the tables. */
const QUESTIONS = [
  ...TABLES.map((table) => `select * from ${table} order by occurred_at, event_id`),
  'select count(*), min(occurred_at), max(occurred_at) from events',
  'select * from audit_log order by occurred_at desc, event_id desc limit 7',
  'select event_id from events where source = $$branch$$ order by occurred_at, event_id limit 5 offset 3',
  'select source, message_type, count(*) from events group by 1, 2 order by 1, 2',
  `select event_id from audit_log where occurred_at > now() - interval '100 years' and 'ap-1' = any(host_names) order by 1`,
  `select event_id from location_ap_centric where lower(ssid) like 'zü%' or lower(ssid) like 'q%' order by 1`,
  `select event_id from location_ap_centric where ssid like 'brown\\_%' order by 1`,
  `select event_id from events where payload ->> 'description' ~* 'grüße|quick' order by 1`,
  `select event_id from events where payload @> '{"orgId": 5}' order by 1`,
  `select a.event_id from audit_log a join audit_log b on a.code = b.code and a.occurred_at < b.occurred_at order by 1 limit 20`,
  `select client_mac, (select max(occurred_at) from log_entries l where l.client_mac = o.client_mac) from location_ap_centric o
   order by 1 nulls first, 2 limit 9`,
  `with few as (select * from events where client_mac = '00:11:22:33:44:55') select count(*), count(distinct source) from few`,
  `select event_id from events where not (user_name = 'ann' or client_mac is null) order by 1`,
  `select event_id from audit_log where code in (10001, -7) and (org_id <> 5 or org_id is null) order by 1`,
  // Sorted by another time, or by one of several.
  `select event_id from audit_log where occurred_at > '2026-01-01' order by received_at, event_id limit 3`,
  `select event_id from (select received_at as occurred_at, event_id from audit_log offset 0) s order by occurred_at, event_id limit 3`,
  `select t, event_id from (select occurred_at as t, event_id from audit_events
     union all select received_at, event_id from location_observations) s order by t desc, event_id limit 60`,
  `select event_id from (select event_id, occurred_at from log_entries order by occurred_at desc, event_id limit 9) s order by 1`,
  `select day, count(*) from (select date_trunc('day', occurred_at) as day from events) d group by 1 order by 1 desc limit 4`,
];

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

const condition = fc.letrec<{ one: string; leaf: string }>((tie) => ({
  leaf: fc.oneof(
    fc.constantFrom(...POOL.users).map((user) => `user_name = ${literal(user)}`),
    fc
      .constantFrom(...POOL.users)
      .map((user) => `lower(user_name) like ${literal(`${user.toLowerCase().slice(0, 2)}%`)}`),
    fc.constantFrom(...POOL.macs).map((mac) => `client_mac = ${literal(mac)}`),
    fc.constantFrom(...POOL.macs).map((mac) => `ap_mac <> ${literal(mac)}`),
    fc
      .subarray([...POOL.sources, 'none'])
      .map((names) => `source = any(array[${names.map(literal).join(', ')}]::text[])`),
    fc.constantFrom(...POOL.codes).map((code) => `code >= ${code}`),
    fc
      .constantFrom('user_name', 'client_mac', 'code', 'description')
      .map((column) => `${column} is not null`),
    fc
      .integer({ min: 0, max: 160 })
      .map((days) => `occurred_at < timestamptz '2026-01-01Z' + interval '${days} days'`),
    fc
      .integer({ min: 0, max: 160 })
      .map((days) => `occurred_at >= timestamptz '2026-01-01Z' + interval '${days} days'`),
    fc.constantFrom(...POOL.texts).map((text) => `strpos(description, ${literal(text)}) > 0`),
    fc.constantFrom(
      "family in ('audit', 'log')",
      "message_type = 'AUDIT_LOG_ALL'",
      'is_superseded(event_id)',
    ),
  ),
  one: fc.oneof(
    { maxDepth: 3 },
    tie('leaf'),
    fc.tuple(tie('one'), tie('one')).map(([a, b]) => `(${a} and ${b})`),
    fc.tuple(tie('one'), tie('one')).map(([a, b]) => `(${a} or ${b})`),
    tie('one').map((a) => `not (${a})`),
  ),
})).one;

const drawn = fc.tuple(condition, fc.constantFrom('asc', 'desc'), fc.integer({ min: 1, max: 30 })).map(
  ([where, order, limit]) => `select event_id, occurred_at from events where ${where}
    order by occurred_at ${order}, event_id ${order} limit ${limit}`,
);

const DRAWN = fc.sample(drawn, 60);

/** Rules that read single events, and groups of them. */
const RULES = [
  { filter: {}, group_by: ['message_type'] },
  { filter: {}, count: 2, within: '7d', group_by: ['message_type'] },
  {
    filter: { families: ['location'] },
    count: 2,
    within: '31d',
    group_by: ['ap_mac'],
    distinct: 'client_mac',
  },
].map((given) => alertRuleSchema.parse({ name: 'asked', title: 'Asked', ...given }));

const RANGE = { since: new Date('2020-01-01T00:00:00Z'), until: new Date('2030-01-01T00:00:00Z') };

const backtest = (db: Db, rule: AlertRule) =>
  Array.fromAsync(backtestRule(db, ALL_SOURCES, rule, RANGE, new AbortController().signal));

const ask = async (db: Db, question: string) => (await sql.raw(question).execute(db)).rows;

const before = new Map<string, unknown>();
beforeAll(async () => {
  for (const question of [...QUESTIONS, ...DRAWN]) before.set(question, await ask(test.service, question));
  for (const rule of RULES) before.set(JSON.stringify(rule), await backtest(test.service, rule));
  await archived.archiveAll();
});

it('every row is in a file, and none in the database', async () => {
  const files = await listArchivedFiles(test.service, undefined);
  expect(files.reduce((sum, { rows }) => sum + rows, 0)).toBe(STORED);
  for (const table of TABLES) expect(await ask(test.service, `table ${table}`)).toEqual([]);
});

it.each(QUESTIONS)('%s', async (question) => {
  expect(await ask(archived.events, question)).toEqual(before.get(question));
});

it('what is drawn has the same answers', async () => {
  for (const question of DRAWN) {
    expect({ question, answer: await ask(archived.events, question) }).toEqual({
      question,
      answer: before.get(question),
    });
  }
});

it.each(RULES)('the alerts that a rule would have raised: %j', async (rule) => {
  const alerts = await backtest(archived.events, rule);
  expect(alerts).toEqual(before.get(JSON.stringify(rule)));
  expect(alerts.length).toBeGreaterThan(0);
});

it('a destination is not sent back to where its events are archived', async () => {
  const siem = { db: test.service, operator: OPERATOR, configured: ['siem'], name: 'siem' };
  const rewind = (time: Date) => rewindDestination(siem, time);
  const files = await listArchivedFiles(test.service, undefined);
  const last = Math.max(...files.map(({ lastReceivedAt }) => lastReceivedAt.getTime()));
  await expect(rewind(new Date(last))).rejects.toThrow(
    /archived \(2026-\d\d(, 2026-\d\d)*\).*xiq-sink unarchive, or resend events received after 20/,
  );
  await rewind(new Date(last + 1));
});

it('a person who may only read has the same answers, and no more rights', async () => {
  const read = (statement: string) => readOnlyQuery(test.readerUrl, statement, readsArchive(archived.access));
  const [question = ''] = QUESTIONS.slice(5);
  const { rows, archived: fromFiles } = await read(question);
  expect(fromFiles?.rows).toBeGreaterThan(0);
  expect(rows).toEqual([[String(STORED), expect.any(String), expect.any(String)]]);
  const began = performance.now();
  await expect(read('select * from audit_events')).rejects.toThrow('permission denied');
  // The one before leaves no lock that this one waits for.
  expect(performance.now() - began).toBeLessThan(20_000);
  await expect(read('select * from archived_audit_events')).rejects.toThrow('permission denied');
});
