import { expect, it } from 'vitest';
import { printResult } from '../../src/commands/sql/print-result.ts';
import { readOnlyQuery } from '../../src/store/server/read-only-query.ts';
import { printedBy } from '../support/printed.ts';
import { useDatabase } from '../support/use-database.ts';

const database = useDatabase();

/** The output of `sql` on standard output. */
async function sql(statement: string, format: 'table' | 'csv' | 'json'): Promise<string> {
  const result = await readOnlyQuery(database.readerUrl, statement);
  return (await printedBy(() => printResult(result, format))).out;
}

/** The value of one expression as `sql --json` prints it, in one line. */
async function jsonOf(expression: string): Promise<string> {
  const json = await sql(`select ${expression} as value`, 'json');
  const [, value = ''] = /^\[\n {2}\{\n {4}"value": ([^]*)\n {2}\}\n\]\n$/.exec(json) ?? [];
  return value.replaceAll(/\n */g, '');
}

it.each([
  [
    "array['a', 'b,c', 'd \"e\"', E'f\\\\g', '', null, 'NULL', '{}']",
    String.raw`["a","b,c","d \"e\"","f\\g","",null,"NULL","{}"]`,
  ],
  ["'{}'::text[]", '[]'],
  ['null::text[]', 'null'],
  ['array[9007199254740993, -1]', '["9007199254740993","-1"]'],
  ['array[1.50, null]', '[1.50,null]'],
  ["array['NaN', 1]::float8[]", '["NaN",1]'],
  ['array[true, false]', '[true,false]'],
  ["array['00:11:22:33:44:55']::macaddr[]", '["00:11:22:33:44:55"]'],
  ["array['10.0.0.1']::inet[]", '["10.0.0.1"]'],
  ["array['2026-01-31T08:00Z']::timestamptz[] is not null", 'true'],
  ['array[[1, 2], [3, 4]]', '[[1,2],[3,4]]'],
  ["'[0:1]={5,6}'::int[]", '[5,6]'],
  [`array['{"a": [1, "}"]}']::jsonb[]`, '[{"a": [1,"}"]}]'],
  ["'1 2'::int2vector", '"1 2"'],
  ['9007199254740993', '"9007199254740993"'],
  ['1.50', '1.50'],
  ["'Infinity'::float8", '"Infinity"'],
  ['false', 'false'],
  ['null', 'null'],
  [`'{"id": 9007199254740993, "list": []}'::jsonb`, '{"id": 9007199254740993,"list": []}'],
  ["'{1}'::text", '"{1}"'],
])('JSON of %s', async (expression, json) => {
  expect(await jsonOf(expression)).toBe(json);
});

it('CSV guards text against formulas, and leaves numbers alone', async () => {
  const statement = `select '=1+1' as "=name", '+49 151' as text, -1 as int, -1.5::numeric as num, null as nothing,
    '' as empty, array['-x', 'y'] as list, ' =1+1' as a, '\uFF1D1+1' as b, E'\n+1' as c`;
  expect(await sql(statement, 'csv')).toBe(
    `'=name,text,int,num,nothing,empty,list,a,b,c\r\n'=1+1,'+49 151,-1,-1.5,,"","{-x,y}",' =1+1,'\uFF1D1+1,"'\n+1"\r\n`,
  );
});

it('a table has the text of Postgres', async () => {
  expect(await sql('select array[1, 2] as list, 1 as n', 'table')).toBe('list   n\n{1,2}  1\n');
});

it('shows hidden characters in every format, and JSON has the text as it is stored', async () => {
  const text = 'a\u202Eb\u009B31m\u200B';
  const shown = String.raw`a\u202eb\u009b31m\u200b`;
  const statement = `select '${text}' as "name\u2066"`;
  expect(await sql(statement, 'table')).toBe(`name\\u2066\n${shown}\n`);
  expect(await sql(statement, 'csv')).toBe(`name\\u2066\r\n${shown}\r\n`);
  const json = await sql(statement, 'json');
  expect(json).toMatch(/^[ -~\n]+$/);
  expect(JSON.parse(json)).toEqual([{ 'name\u2066': text }]);
});
