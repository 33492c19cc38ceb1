import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { sql } from 'kysely';
import { readsArchive } from '../../src/archive/archive-database.ts';
import { ArchiveReader, type RunInSession } from '../../src/archive/read-archive.ts';
import type { Db } from '../../src/store/server/database.ts';
import { listArchivedFiles } from '../../src/store/archive/archived-files.ts';
import { createClient } from '../../src/store/server/postgres.ts';
import { readOnlyQuery } from '../../src/store/server/read-only-query.ts';
import { POOL, START, DAY } from '../store/events/varied-events.ts';
import { storeDeliveries } from '../support/actions.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { useDatabase } from '../support/use-database.ts';
import { useArchive } from './archived-months.ts';

const test = useDatabase({ isVaried: true });
const archived = useArchive(test);

const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;

const VIEWS = [
  'location_observations',
  'log_entries',
  'audit_log',
  'events',
  'location_ap_centric',
  'authentication_log',
] as const;

/** What a statement can group by, of all views that are drawn, and of some. */
const ANY = [
  'source',
  'message_type',
  'origin',
  `date_trunc('day', occurred_at)`,
  `date_trunc('month', occurred_at, 'UTC')`,
  `date_trunc('hour', occurred_at at time zone 'UTC')`,
  `date_trunc('day', occurred_at, 'Europe/Zurich')`,
  `(occurred_at at time zone 'Asia/Kathmandu')::date`,
  'occurred_at::date',
  `extract(hour from occurred_at)`,
  `to_char(occurred_at, 'YYYY-MM-DD HH24')`,
  'occurred_at',
  `date_trunc('second', received_at)`,
  'org_id',
];
const OF_VIEW: Readonly<Record<(typeof VIEWS)[number], readonly string[]>> = {
  location_observations: ['ssid', 'client_mac', 'rssi', 'lower(left(ssid, 64))'],
  log_entries: ['username', 'status', 'client_mac', 'lower(username)'],
  audit_log: ['user_name', 'code', 'code % 3', 'host_names', 'coalesce(description, source)'],
  events: ['family', 'user_name', 'client_mac', `payload ->> 'orgId'`],
  location_ap_centric: ['ssid', 'ap_mac', 'x'],
  authentication_log: ['username', 'reply', 'reject_reason', 'device_serial_number'],
};

const time = fc
  .integer({ min: -12 * 24, max: 145 * 24 })
  .map((hours) => `timestamptz '${new Date(START + (hours * DAY) / 24).toISOString()}'`);

const condition = (columns: readonly string[]) =>
  fc.letrec<{ one: string; leaf: string }>((tie) => ({
    leaf: fc.oneof(
      time.map((at) => `occurred_at >= ${at}`),
      time.map((at) => `occurred_at < ${at}`),
      fc.constantFrom(...POOL.sources).map((source) => `source = ${literal(source)}`),
      fc.constantFrom(`origin = 'webhook' or not is_superseded(event_id)`, `payload @> '{"orgId": 5}'`),
      fc.constantFrom(...columns).map((column) => `${column} is not null`),
      fc
        .tuple(fc.constantFrom(...columns), fc.constantFrom(...POOL.texts, ...POOL.macs, ...POOL.users))
        .map(([column, text]) => `(${column})::text ${text.length > 3 ? '=' : '<>'} ${literal(text)}`),
    ),
    one: fc.oneof(
      { maxDepth: 2 },
      tie('leaf'),
      fc.tuple(tie('one'), tie('one')).map(([a, b]) => `(${a} and ${b})`),
      fc.tuple(tie('one'), tie('one')).map(([a, b]) => `(${a} or ${b})`),
      tie('one').map((a) => `not (${a})`),
    ),
  })).one;

const statement = fc.constantFrom(...VIEWS).chain((view) => {
  const columns = [...ANY, ...OF_VIEW[view]];
  const plain = OF_VIEW[view].filter((column) => /^\w+$/.test(column));
  const where = condition(OF_VIEW[view]);
  const aggregate = fc.oneof(
    fc.constantFrom('count(*)', 'count(1)', 'min(occurred_at)', 'max(occurred_at)', 'min(received_at)'),
    fc.constantFrom(...plain).map((column) => `count(${column})`),
    fc.constantFrom(...columns).map((column) => `count(distinct ${column})`),
    fc
      .constantFrom(...columns.filter((column) => column !== 'host_names'))
      .map((column) => `max((${column})::text)`),
    where.map((one) => `count(*) filter (where ${one})`),
  );
  return fc
    .record({
      by: fc.subarray(columns, { maxLength: 3 }),
      aggregates: fc.array(aggregate, { minLength: 1, maxLength: 3 }),
      where: fc.option(where),
      having: fc.option(fc.constantFrom('count(*) > 2', 'max(occurred_at) > min(occurred_at)')),
      isNested: fc.boolean(),
    })
    .map(({ by, aggregates, where: one, having, isNested }) => {
      const rows = `${view}${one === null ? '' : ` where ${one}`}`;
      const places = by.map((_, index) => String(index + 1)).join(', ');
      const selected = [...by, ...aggregates].map((one, index) => `${one} as c${index}`);
      return `select ${selected.join(', ')} from ${isNested ? `(select * from ${rows}) as found` : rows}
        ${places === '' ? '' : `group by ${places}`}${having === null ? '' : ` having ${having}`}
        order by ${[...by, ...aggregates].map((_, index) => String(index + 1)).join(', ')}`;
    });
});

const UNION = `select message_type as "messageType", date_trunc('day', occurred_at) as start, count(*)::float8 as count
  from (select message_type, occurred_at from audit_events where source = 'default' union all select message_type, occurred_at
    from location_observations where client_mac = '00:11:22:33:44:55') as found group by 1, 2 order by 1, 2`;

const DRAWN = [...fc.sample(statement, 200), UNION];

const ask = async (db: Db, question: string) => (await sql.raw(question).execute(db)).rows;

const before = new Map<string, unknown>();

beforeAll(async () => {
  // The files of one source have events of two origins then.
  const observations = [{ clientMac: POOL.macs[0], ssid: POOL.texts[0], seenEpoch: START, rssi: -50 }];
  const record = { orgId: 5, apMac: POOL.macs[1], observations };
  const backfilled = queuedDelivery('LOCATION_AP_CENTRIC', [record], { origin: 'backfill' });
  await storeDeliveries(test.service, backfilled);
  await archived.log.seal();
  for (const question of DRAWN) before.set(question, await ask(test.service, question));
});

const answers = async () => {
  const found = new Map<string, unknown>();
  for (const question of DRAWN) found.set(question, await ask(archived.events, question));
  return found;
};

it('sums of live and archived events are what they were before', async () => {
  await archived.archiveAll(new Date('2026-03-01T00:00:00Z'));
  expect(await answers()).toEqual(before);
});

it('so are sums of archived events alone', async () => {
  await archived.archiveAll();
  expect(await answers()).toEqual(before);
});

it('most of them read groups, and no single rows', async () => {
  await using reader = await ArchiveReader.open(archived.access);
  if (reader === undefined) throw new TypeError('there is no archive');
  const client = createClient(test.databaseUrl);
  await client.connect();
  try {
    await client.query(`begin; set timezone = 'UTC'`);
    await client.query(reader.searchPath('session'));
    const run: RunInSession = async (text, values) =>
      (await client.query<Record<string, unknown>>(text, values)).rows;
    const prepared: string[] = [];
    for (const question of DRAWN) prepared.push((await reader.prepare(run, question)).text);
    const weighed = prepared.filter((text) => !DRAWN.includes(text));
    expect(weighed.length).toBeGreaterThan(DRAWN.length * 0.8);
  } finally {
    await client.end();
  }
});

it('sums read a row for each group, with the names and types of columns as they were', async () => {
  const text = `select date_trunc('month', occurred_at), source, count(*), min(occurred_at) from location_ap_centric group by 1, 2 order by 1, 2`;
  const [live, both] = await Promise.all([
    readOnlyQuery(test.readerUrl, text),
    readOnlyQuery(test.readerUrl, text, readsArchive(archived.access)),
  ]);
  expect(live.rows).toEqual([]);
  expect(both.columns).toEqual(live.columns);
  expect(both.rows.length).toBeGreaterThan(3);
  expect(both.archived?.rows).toBeLessThan(100);
});

it('the rows of a file are counted and not read if all of them meet the condition', async () => {
  const text = `select source, count(*) from location_ap_centric where source = 'branch' group by 1`;
  const read = async () => (await readOnlyQuery(test.readerUrl, text, readsArchive(archived.access))).rows;
  const answer = await read();
  const files = (await listArchivedFiles(test.service, 'location_observations')).filter(
    ({ source }) => source === 'branch',
  );
  for (const file of files) {
    const place = path.join(archived.access.files.directory, file.path);
    const content = await readFile(place);
    // Its length stands before the last four bytes.
    const footer = content.length - 8 - content.readUInt32LE(content.length - 8);
    await writeFile(place, content.fill(0, 4, footer));
  }
  await expect(ask(archived.events, 'select * from location_ap_centric')).rejects.toThrow('cannot be read');
  expect(await read()).toEqual(answer);
});
