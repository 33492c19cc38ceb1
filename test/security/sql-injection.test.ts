import { exactTerms } from '../../src/events/search-query.ts';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { MESSAGE_TYPES } from '../../src/events/domain.ts';
import { BatchStore } from '../../src/handlers/store-batch.ts';
import { findEvents } from '../support/find-events.ts';
import { viewEvent } from '../../src/events/stored-event.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { FIELDS } from '../../src/events/message-types.ts';
import { useDatabase } from '../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';

const test = useDatabase();

const HOSTILE = [
  `'; drop table deliveries; --`,
  `"; drop table deliveries; --`,
  `\\'; drop table deliveries; --`,
  `$1, $$; drop table deliveries; $$`,
  `' or '1'='1`,
  `%' or true --`,
  '${sql}',
  `{"a'":"\\"} , (1),('`,
  `xiq"."reader`,
];

const store = (...deliveries: Parameters<BatchStore['add']>[0]['deliveries']) =>
  new BatchStore(test.db, pino({ level: 'silent' }), new AbortController().signal).add({ deliveries });

const countTables = async () =>
  (await test.query<{ n: string }>`select count(*) as n from pg_class where relkind in ('r', 'p', 'v')`)[0]
    ?.n;

describe('hostile text', () => {
  it.each(MESSAGE_TYPES)('in every field of %s is data and nothing else', async (messageType) => {
    const before = await countTables();
    const records = HOSTILE.map((text) => ({
      ...Object.fromEntries(FIELDS[messageType].map(({ column }) => [column, text])),
      [text]: text,
    }));
    await store(queuedDelivery(messageType, records));
    expect(await countTables()).toBe(before);
    const rows = await test.query<{ payload: Record<string, string> }>`
      select payload from events where message_type = ${messageType}`;
    for (const text of HOSTILE) expect(rows.some(({ payload }) => payload[text] === text)).toBe(true);
  });

  it.each(HOSTILE)('as the name of a source is data: %s', async (source) => {
    await store(queuedDelivery('AUDIT_LOG_ALL', [auditRecord()], { source }));
    const found = await findEvents(test.db, ALL_SOURCES, { terms: exactTerms({ source }) }, { limit: 10 });
    expect(found.map((event) => event.source)).toEqual([source]);
  });

  it.each(HOSTILE)('in a search finds what is equal to it: %s', async (text) => {
    const record = auditRecord({ userName: text, description: `before ${text} behind` });
    await store(queuedDelivery('AUDIT_LOG_ALL', [record]));
    const page = { limit: 100 };
    const byUser = await findEvents(test.db, ALL_SOURCES, { terms: exactTerms({ user: text }) }, page);
    expect(new Set(byUser.map((event) => viewEvent(event).user))).toEqual(new Set([text]));
    // The text that is searched is the record's as JSON.
    const asJson = JSON.stringify(`before ${text} behind`).slice(1, -1);
    const byText = await findEvents(test.db, ALL_SOURCES, { terms: exactTerms({ text: asJson }) }, page);
    expect(byText.map((event) => viewEvent(event).user)).toContain(text);
    for (const fields of [{ mac: text }, { code: text }]) {
      await findEvents(test.db, ALL_SOURCES, { terms: exactTerms(fields) }, page).catch(() => undefined);
    }
    expect(
      await findEvents(test.db, ALL_SOURCES, { terms: exactTerms({ source: `${text}x` }) }, page),
    ).toEqual([]);
  });
});

it('members named like prototypes arrive in the payload and pollute nothing', async () => {
  const text =
    '{"userName":"kept","__proto__":{"userName":"evil","isAdmin":true},"constructor":{"prototype":{"isAdmin":true}}}';
  const source = 'polluted';
  await store(queuedDelivery('AUDIT_LOG_ALL', [], { source, records: `[${text}]`, recordCount: 1 }));
  const rows = await test.query<{ user_name: string; payload: string }>`
    select user_name, payload::text from audit_log where source = ${source}`;
  expect(rows).toMatchObject([{ user_name: 'kept' }]);
  expect(rows[0]?.payload).toContain('"__proto__": {"isAdmin": true, "userName": "evil"}');
  expect(rows[0]?.payload).toContain('"constructor": {"prototype": {"isAdmin": true}}');
  expect('isAdmin' in {}).toBe(false);
});

describe('the source code', () => {
  const ROOT = path.resolve(import.meta.dirname, '../..');
  const files = globSync('src/**/*.ts', { cwd: ROOT }).map((file) => ({
    file,
    text: readFileSync(path.join(ROOT, file), 'utf8'),
  }));

  /** What others than this program's users have written. */
  const WRITTEN: Readonly<Record<string, string | readonly string[]>> = {
    // This program, with values that pg has escaped (test/store/reports/reports.test.ts, "take no value for SQL").
    'src/store/reports/reports.ts': 'report.statement(range',
    // Postgres itself, with format().
    'src/store/server/roles/roles.ts': 'statement',
    // Postgres, as the bounds of a partition.
    'src/store/deliveries/recount-deliveries.ts': "facts.bounds ?? 'true'",
    // This program: the table of who appears in which events.
    'src/store/counts/seen-by-event.ts': ['key', 'name', 'found.key', "found.key.replace('::text', ''"],
    // The migrations, and what they left of before.
    'src/store/counts/read-arrivals.ts': 'view',
    'src/store/server/schema/build-indexes.ts': 'definition',
    'src/store/server/schema/migrations.ts': 'withComments(script',
    'src/store/server/schema/adopt.ts': 'object',
  };

  it('puts text into SQL as it is in src/store alone, and there only constants', () => {
    expect(files.length).toBeGreaterThan(100);
    for (const { file, text } of files) {
      const raw = [...text.matchAll(/sql\.raw\(([^)]*)\)/g)].map(([, argument]) => argument);
      const allowed = file.startsWith('src/store/') ? /[A-Z][A-Z_]*|'[^']*'/ : /never/;
      for (const argument of raw.filter((argument = '') => ![WRITTEN[file]].flat().includes(argument)))
        expect(`${file}: ${argument}`).toMatch(new RegExp(`^${file}: (?:${allowed.source})$`));
    }
  });

  it('gives no statement to a connection that is put together from text', () => {
    for (const { file, text } of files) {
      // Values that stand in a statement all the same: a constant name, and what pg itself has escaped.
      const built = [...text.matchAll(/\.query\(\s*`[^`]*\$\{(\w+)\}/g)].map(([, value]) => value);
      const escaped = [...text.matchAll(/const (\w+) = (?:client|target)\.escape(?:Literal|Identifier)\(/g)];
      // The schema of a session, of a constant and the number of the server's process; its views, as the server prints them.
      const made = file === 'src/store/archive/archive-schema.ts' ? ['schema', 'rows'] : [];
      const names = [...escaped.map(([, name]) => name), ...made];
      for (const value of built.filter((name = '') => !/^[A-Z_]+$/.test(name)))
        expect(names).toContain(value);
    }
  });
});
