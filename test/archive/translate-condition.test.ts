import { expect, it } from 'vitest';
import { translate } from '../../src/archive/translate-condition.ts';

const TYPES = new Map([
  ['source', 'text'],
  ['ssid', 'text'],
  ['code', 'bigint'],
  ['client_mac', 'macaddr'],
  ['occurred_at', 'timestamp with time zone'],
  ['host_names', 'text[]'],
  ['acknowledged', 'boolean'],
]);

const translated = (filter: string) =>
  translate(filter, { alias: 'own', types: TYPES }, async (expression) => ({
    text: `value of${expression}`,
    type: 'timestamp with time zone',
  }));

const ALL = { may: 'true', must: 'false' };

it.each([
  [`(source = 'a''b'::text)`, `"source" = 'a''b'`],
  [`('5'::bigint < code)`, `"code" > '5'::HUGEINT`],
  [
    `(client_mac = ANY ('{00:11:22:33:44:55,aa:bb:cc:dd:ee:ff}'::macaddr[]))`,
    `"client_mac" in ('00:11:22:33:44:55', 'aa:bb:cc:dd:ee:ff')`,
  ],
  [`(source = ANY ('{"a,b","c\\"d",NULL,"NULL"}'::text[]))`, `"source" in ('a,b', 'c"d', 'NULL', null)`],
  [`(own.code = '5'::bigint)`, `"code" = '5'::HUGEINT`],
  [`(ssid ~~ 'a\\_%'::text)`, String.raw`"ssid" like 'a\_%' escape '\'`],
  [`(code IS NOT NULL)`, `"code" is not null`],
  [`acknowledged`, `"acknowledged"`],
  [
    `(occurred_at > (now() - '1 day'::interval))`,
    `"occurred_at" > 'value of (now() - ''1 day''::interval)'::TIMESTAMPTZ`,
  ],
])('%s is the same in both', async (filter, condition) => {
  expect(await translated(filter)).toMatchObject({ may: condition, must: condition });
});

it.each([
  `(ssid > 'a'::text)`,
  `(payload @> '{"a": 1}'::jsonb)`,
  `is_superseded(event_id)`,
  `(code = (SubPlan 1))`,
  `(code = other.code)`,
  `(other.code = '5'::bigint)`,
  `(other.code IS NULL)`,
  `(tableoid IS NULL)`,
  `(COALESCE(source, ssid) IS NULL)`,
  `(lower(source) = lower(ssid))`,
  `(source ~~ lower(ssid))`,
  `(occurred_at = '2026-01-01'::date)`,
  `(source ~ 'a'::text)`,
  `(((`,
])('%s may be true of any row, and must be of none', async (filter) => {
  expect(await translated(filter)).toMatchObject(ALL);
});

it('the opposite of what is unknown is unknown, and a part that is known narrows', async () => {
  expect(await translated('(NOT is_superseded(event_id))')).toMatchObject({
    may: 'not coalesce((false), false)',
    must: 'not ((true))',
  });
  const origin = `((source = 'a'::text) OR (NOT is_superseded(event_id)))`;
  expect(await translated(origin)).toMatchObject({
    may: `("source" = 'a') or (not coalesce((false), false))`,
    must: `("source" = 'a') or (not ((true)))`,
  });
});

it('a list with a null may have any member', async () => {
  const must = `list_contains("host_names", 'ap"1')`;
  expect(await translated(`('ap"1'::text = ANY (host_names))`)).toMatchObject({
    may: `${must} or len("host_names") <> list_count("host_names")`,
    must,
    undecided: `(${must}) is not true`,
  });
});

it('what is undecided is what is not known beside what is', async () => {
  const { undecided } = await translated(
    `((code = '5'::bigint) AND ((source = 'a'::text) OR is_superseded(event_id)))`,
  );
  expect(undecided).toBe(`(("source" <> 'a' or "source" is null) and (true))`);
  expect((await translated(`((code = '5'::bigint) AND (NOT (source = 'a'::text)))`)).undecided).toBe('false');
});

it('letters of other scripts pass where their lower case is a rule of the language', async () => {
  const { may, must } = await translated(`(lower("left"(ssid, 64)) ~~ 'k%'::text)`);
  expect(may).toBe(String.raw`lower("ssid") like 'k%%' escape '\' or strlen("ssid") <> length("ssid")`);
  expect(must).toBe('false');
  expect(await translated(`(lower(ssid) ~~ 'ü%'::text)`)).toMatchObject(ALL);
});

it('finds the time, the sources and the types that files must have', async () => {
  const bounded = `((occurred_at >= '2026-01-01 00:00:00+00'::timestamp with time zone) AND
    (occurred_at < '2026-02-01 00:00:00+00'::timestamp with time zone) AND (source = ANY ('{a,b}'::text[])))`;
  expect((await translated(bounded)).within).toEqual({
    since: new Date('2026-01-01T00:00:00Z'),
    until: new Date('2026-02-01T00:00:00.001Z'),
    source: ['a', 'b'],
  });
  expect((await translated(`((source = 'a'::text) OR (code = '1'::bigint))`)).within).toEqual({});
  expect((await translated(`(NOT (source = 'a'::text))`)).within).toEqual({});
});
