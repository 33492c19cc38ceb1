import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { coverageArea } from '../../src/console/coverage/coverage-area.ts';
import { recordCoverage } from '../../src/reconcile/coverage.ts';
import type { Db } from '../../src/store/server/database.ts';
import { linksIn, rowsIn } from '../support/read-page.ts';
import { useConsole } from '../support/use-console.ts';

const HOUR = 3_600_000;
/** Yesterday: the whole day was compared. */
const DAY = new Date(Math.floor(Date.now() / (24 * HOUR)) * 24 * HOUR - 24 * HOUR);
const day = DAY.toISOString().slice(0, 10);
const next = new Date(DAY.getTime() + 24 * HOUR);

async function seed(db: Db): Promise<void> {
  const missing = { quarter: new Date(DAY.getTime() + HOUR), matched: 4, onlyWebhook: 0, onlyLog: 2 };
  const last = new Date(next.getTime() - HOUR);
  for (const [at, found] of [
    [next.getTime() + HOUR, [missing]],
    [next.getTime() + 8 * HOUR, []],
  ] as const) {
    const range = { from: DAY, to: last, at: new Date(at) };
    await recordCoverage(db)('branch', 'AUDIT_LOG_ALL', found, range);
  }
  await sql`
    insert into subscriptions (source, message_type, url, application, status, created_at)
    values ('branch', 'GDPR_LOG_ALL', '', '', 'ENABLED', ${DAY})`.execute(db);
  await sql`
    insert into gaps (source, message_type, began_at, ended_at, reason, detail)
    values ('branch', 'AUDIT_LOG_ALL', ${DAY}, ${next}, 'refused', '{"deliveries": 3}')`.execute(db);
}

const admin = useConsole((db) => [coverageArea({ db })], { seed });

test('the API counts quarters by day, and lists gaps', async () => {
  const query = `since=${day}&until=${next.toISOString()}`;
  expect(await admin.get(`/coverage?${query}`)).toEqual({
    items: [
      {
        day,
        source: 'branch',
        message_type: 'AUDIT_LOG_ALL',
        whole: 91,
        healed: 1,
        push_only: 0,
        not_comparable: 0,
        reasons: [],
        unrecoverable: 0,
        pending: 4,
        healed_events: 2,
      },
      expect.objectContaining({ day, message_type: 'GDPR_LOG_ALL', whole: 0, push_only: 96, pending: 0 }),
    ],
    gaps: [
      {
        source: 'branch',
        message_type: 'AUDIT_LOG_ALL',
        reason: 'refused',
        began_at: DAY.toISOString(),
        ended_at: next.toISOString(),
        detail: { deliveries: 3 },
      },
    ],
  });
  expect(await admin.get(`/coverage?${query}&source=other`)).toEqual({ items: [], gaps: [] });
});

test('the API lists each quarter of an hour', async () => {
  const since = new Date(DAY.getTime() + HOUR).toISOString();
  const until = new Date(DAY.getTime() + 1.5 * HOUR).toISOString();
  const address = `/coverage/quarters?since=${since}&until=${until}&type=AUDIT_LOG_ALL`;
  const of = { source: 'branch', message_type: 'AUDIT_LOG_ALL' };
  expect(await admin.get(address)).toEqual({
    items: [
      { ...of, quarter: since, state: 'healed', healed: 2, reason: null },
      {
        ...of,
        quarter: new Date(DAY.getTime() + 1.25 * HOUR).toISOString(),
        state: 'whole',
        healed: 0,
        reason: null,
      },
    ],
  });
  await expect(admin.get(`/coverage/quarters?since=2026-01-01&until=2026-02-01`)).rejects.toThrow(
    /by at most 7 days/,
  );
});

test('the page has the worst state of each day and source, which leads to each quarter of its types', async () => {
  const all = await admin.page(`/coverage?month=${day.slice(0, 7)}`);
  expect(all).toContain(`href="/coverage?day=${day}&amp;source=branch"`);
  expect(all).toContain(
    `${day}: 4 pending, 1 recovered, 91 complete, 96 not checkable (Audit); 2 events fetched`,
  );
  expect(all).toContain('100 %');
  expect(await admin.page('/coverage')).toContain(`${day}: 4 pending`);
  const types = await admin.page(`/coverage?month=${day.slice(0, 7)}&source=branch`);
  expect(types).toContain(`${day}: 4 pending, 1 recovered, 91 complete; 2 events fetched`);
  expect(types).toContain(`${day}: 96 not checkable`);
  const quarters = await admin.page(`/coverage?day=${day}`);
  expect(quarters.match(/<span class="cell [^>]*title="\d\d:\d\d: \w/g)).toHaveLength(192);
  expect(quarters).toContain('01:00: recovered, 2 events fetched');
  expect(quarters).toMatch(/<th [^>]*>00<\/th>/);
  expect(quarters).toContain('deliveries: 3');
  expect(await admin.page('/coverage?day=2026-01-31')).toContain('No source was known at that time.');
  const gap = [`${day} 00:00:00`, `${next.toISOString().slice(0, 10)} 00:00:00`, 'branch', 'Audit'];
  expect(rowsIn(quarters, 'Gaps, newest first')).toEqual([[...gap, 'refused', 'deliveries: 3']]);
});

test('the page leads to the time before and after, as far as there is one, to more and to less', async () => {
  const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);
  const [before, today] = [dayOf(DAY.getTime() - HOUR), dayOf(next.getTime())];
  expect(linksIn(await admin.page(`/coverage?day=${day}&source=branch`))).toEqual({
    'Earlier day': `/coverage?day=${before}&source=branch`,
    'Later day': `/coverage?day=${today}&source=branch`,
    Month: `/coverage?month=${day.slice(0, 7)}&source=branch`,
    'Last 30 days': '/coverage?source=branch',
  });
  expect(linksIn(await admin.page(`/coverage?day=${today}`))).not.toHaveProperty('Later day');
  expect(linksIn(await admin.page('/coverage?month=2026-01'))).toEqual({
    'Earlier month': '/coverage?month=2025-12',
    'Later month': '/coverage?month=2026-02',
    'Last 30 days': '/coverage',
  });
  const usual = linksIn(await admin.page('/coverage'));
  expect(Object.keys(usual)).not.toEqual(expect.arrayContaining(['Later month', 'Last 30 days', 'Month']));
  expect(usual).toMatchObject({ branch: '/coverage?source=branch' });
});

test('a reader who does not know the SQL of states has a view by day', async () => {
  const rows = await admin.query`
    select whole, healed, pending, healed_events from coverage_by_day
    where day = ${day} and message_type = 'AUDIT_LOG_ALL'`;
  expect(rows).toEqual([{ whole: '91', healed: '1', pending: '4', healed_events: '2' }]);
});

test('a quarter that was never proven is unrecoverable once the history no longer reaches back', async () => {
  const past = new Date(DAY.getTime() - 40 * 24 * HOUR);
  const range = { from: past, to: new Date(past.getTime() + HOUR), at: new Date(past.getTime() + 2 * HOUR) };
  await recordCoverage(admin.db)('old', 'AUDIT_LOG_ALL', [], range);
  const query = `since=${past.toISOString()}&until=${next.toISOString()}&source=old`;
  const items = expect.arrayContaining([
    expect.objectContaining({ day: past.toISOString().slice(0, 10), unrecoverable: 96, pending: 0 }),
    expect.objectContaining({ day, unrecoverable: 0, pending: 96 }),
  ]) as unknown;
  expect(await admin.get(`/coverage?${query}`)).toMatchObject({ items });
  const page = await admin.page(`/coverage?month=${past.toISOString().slice(0, 7)}&source=old`);
  expect(rowsIn(page, 'Coverage of old by type and day')).toEqual([expect.arrayContaining(['Audit', '0 %'])]);
});
