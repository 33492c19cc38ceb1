import { expect, it } from 'vitest';
import { weighStatement } from '../../src/archive/weigh-statement.ts';

const weigh = (text: string, session: { zone?: string; isNowKnown?: boolean; values?: unknown[] } = {}) =>
  weighStatement(text, {
    zone: 'UTC',
    isNowKnown: true,
    values: [],
    ...session,
  });

const [EXACT, QUARTER, HOUR, DAY] = [1, 900_000_000, 3_600_000_000, 86_400_000_000];

it.each([
  ['select count(*) from events', 'select w.count(archive_weight) from w.events'],
  [
    'select "ssid", Count ( * ) as "ü" from log_entries l where ssid <> \'ü\' group by 1 having count(*) > 1 order by count(l.ssid)',
    `select "ssid", w.count(archive_weight) as "ü" from w.log_entries l where ssid <> 'ü' group by 1 having w.count(archive_weight) > 1 order by w.count(case when l.ssid is not null then archive_weight end)`,
  ],
  [
    'select ssid, count(distinct username), max(code) from log_entries group by 1',
    'select ssid, count(distinct username), max(code) from w.log_entries group by 1',
  ],
  [
    `select day, count(1) filter (where code = 5) from (select date_trunc('day', occurred_at) as day, code from events
      union all select occurred_at, 5 from log_entries where reply = $1) as d group by day`,
    `select day, w.count(case when 1 is not null then archive_weight end) filter (where code = 5) from (select archive_weight, date_trunc('day', occurred_at) as day, code from w.events
      union all select archive_weight, occurred_at, 5 from w.log_entries where reply = $1) as d group by day`,
  ],
  [
    'select count(*) from (select * from events where code = 1) as e',
    'select w.count(archive_weight) from (select * from w.events where code = 1) as e',
  ],
])('weighs %s', async (text, weighed) => {
  expect((await weigh(text))?.textIn('w')).toBe(weighed);
});

it.each([
  ['source', DAY],
  [`date_trunc('day', occurred_at)`, DAY],
  [`date_trunc('week', events.occurred_at, 'UTC')`, DAY],
  [`date_trunc('hour', occurred_at at time zone 'UTC')`, HOUR],
  [`(occurred_at at time zone 'Europe/Zurich')::date`, QUARTER],
  [`date_trunc('day', occurred_at, 'Europe/Zurich')`, QUARTER],
  [`extract(hour from occurred_at)`, HOUR],
  ['occurred_at::date', DAY],
  [`to_char(occurred_at, 'YYYY-MM')`, DAY],
  [`to_char(occurred_at, 'YYYY-MM-DD HH24:00')`, HOUR],
  ['occurred_at', EXACT],
  [`date_trunc('minute', occurred_at)`, EXACT],
  [`date_trunc('day', occurred_at + interval '1 minute')`, EXACT],
  [`date_trunc('day', occurred_at, '+00:07')`, EXACT],
  [`to_char(occurred_at, 'MI')`, EXACT],
  [`to_char(occurred_at, source)`, EXACT],
  [`date_trunc(source, occurred_at)`, EXACT],
])('tells apart of the time in %s', async (expression, grain) => {
  const text = (by: string) => `select ${by}, count(*) from events where occurred_at > now() group by 1`;
  expect((await weigh(text(expression)))?.grain).toBe(grain);
});

it.each([
  ['Etc/UTC', DAY],
  ['Europe/Zurich', QUARTER],
  ['posixrules', EXACT],
  ['<+00>-00:07', EXACT],
])('in the zone %s', async (zone, grain) => {
  const text = `select date_trunc('day', occurred_at), min(occurred_at), count(*) from events group by 1`;
  expect(await weigh(text, { zone })).toMatchObject({ grain, readsEnds: true });
});

it.each([
  [7 * 86_400, DAY],
  [6 * 3600, HOUR],
  [900, QUARTER],
  [600, EXACT],
])('in bars of %s s', async (seconds, grain) => {
  const text = `select date_bin(make_interval(secs => $1), occurred_at, $2::timestamptz), count(*) from events group by 1`;
  expect((await weigh(text, { values: [seconds, new Date('1970-01-05')] }))?.grain).toBe(grain);
  expect((await weigh(text, { values: [seconds, new Date('1970-01-05T00:01:00Z')] }))?.grain).toBe(EXACT);
});

it('the time of the statement must be known', async () => {
  for (const now of ['now()', 'current_timestamp', 'current_date']) {
    const text = `select count(*) from events where occurred_at > ${now}`;
    expect(await weigh(text)).toBeDefined();
    expect(await weigh(text, { isNowKnown: false })).toBeUndefined();
  }
});

it('a time that a union gives another name is read as it is', async () => {
  const union = (columns: string) =>
    `select date_trunc('day', occurred_at), max(received_at), count(*)
       from (select occurred_at, received_at from events union all select ${columns} from log_entries) as u group by 1`;
  expect((await weigh(union('occurred_at, received_at')))?.grain).toBe(DAY);
  expect((await weigh(union('received_at, occurred_at')))?.grain).toBe(EXACT);
});

it.each([
  'select source from events',
  'select * from events',
  'select avg(code) from events',
  'select sum(code) from events',
  'select array_agg(source) from events',
  'select json_arrayagg(source) from events',
  'select string_agg(source, $$,$$ order by source) from events',
  'select percentile_disc(0.5) within group (order by code) from events',
  'select count(*) over () from events group by source',
  'select random() < 0.5, count(*) from events group by 1',
  'select count(*) from events where random() < 0.5',
  'select count(*) from events where code in (select code from audit_log)',
  'select count(*) from events, audit_log',
  'select count(*) from events join audit_log using (code)',
  'select count(*) from (select source from events limit 5) as e',
  'select count(*) from (select distinct source from events) as e',
  'select count(*) from (select source, count(*) from events group by 1) as e',
  'select count(*) from (select source from events union select source from audit_log) as e',
  'select count(*) from (select * from events union all select * from events) as e',
  'select count(*) from (select from events) as e',
  'select count(*) from events as e (id)',
  'select count(*) from events tablesample bernoulli (5)',
  'select count(*) from public.events',
  'select count(*) from only events',
  'select count(*) from other_table',
  'select count(*) from named_events',
  'select count(events) from events',
  'select max(events::text) from events',
  'select count(case when code = 1 then 1 end) from events',
  'select max(archive_weight) from events',
  'with e as (select * from events) select count(*) from e',
  'select count(*) from events union all select count(*) from audit_log',
  'select count(*) into new from events',
  'select count(*) from events for update',
  'select count(*) from events; select 1',
  'declare c cursor for select count(*) from events',
  'select count(* from events',
])('reads row by row: %s', async (text) => {
  expect(await weigh(text)).toBeUndefined();
});
