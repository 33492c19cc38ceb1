import { expect, it } from 'vitest';
import { reportsArea } from '../../src/console/reports/reports-area.ts';
import { recordNotSent, openSchedule } from '../../src/store/reports/report-schedules.ts';
import type { Db } from '../../src/store/server/database.ts';
import { storeAudits } from '../support/actions.ts';
import { fieldsIn, linksIn, rowsIn, textIn } from '../support/read-page.ts';
import { useConsole } from '../support/use-console.ts';

const SINCE = new Date('2026-03-01');

async function seed(db: Db): Promise<void> {
  const login = (userName: string, time: string) => ({ code: 10_001, userName, timeStamp: Date.parse(time) });
  await storeAudits(
    db,
    login('=ann', '2026-03-07T08:00:00Z'),
    login('=ann', '2026-03-10T08:00:00Z'),
    login('bob', '2026-03-11T08:00:00Z'),
  );
  await openSchedule(db, { name: 'logins-monthly', every: 'month', zone: 'UTC', since: SINCE });
  await recordNotSent(db, 'logins-monthly', SINCE, 'the mail server is down', 60);
}

const schedule = { every: 'month', time_zone: 'UTC', destination: 'audit' } as const;
const schedules = () => [
  { ...schedule, name: 'logins-monthly', report: 'logins' } as const,
  { ...schedule, name: 'keys-monthly', report: 'keys' } as const,
];
const admin = useConsole((db) => [reportsArea({ db, schedules })], { seed });

it('compares the figures with those of the period before, each of which leads to its events', async () => {
  const week = 'since=2026-03-09T00:00:00Z&until=2026-03-15T00:00:00Z';
  const page = await admin.page(`/reports?name=logins&${week}`);
  // On the Saturday before, ann logged in once, and bob not at all.
  const rows = rowsIn(page, 'Logins of administrators');
  expect(rows.map((cells) => cells.slice(0, 3))).toEqual([
    ['=ann', '1', '1'],
    ['bob', '1', '0'],
  ]);
  expect(textIn(page)).toContain('2 rows.');
  expect(textIn(page)).toContain('Before: 2026-03-02 00:00:00 to 2026-03-08 00:00:00 .');
  expect(page.match(/<path d="M100 0v10"/g)).toHaveLength(1);
  expect(page).toContain('since=2026-03-02T00%3A00%3A00.000Z&amp;until=2026-03-08T00%3A00%3A00.000Z');
});

it('shows the part of a figure that is off hours, and marks the one before', async () => {
  const page = await admin.page('/reports?name=logins&month=2026-03');
  expect(page).toContain('<rect class="warn" width="50"');
  expect(page).not.toContain(' 0v10"');
});

it('is of any range, in the console and by the API', async () => {
  const range = 'since=2026-03-11T00:00:00Z&until=2026-03-12T00:00:00Z';
  const page = await admin.page(`/reports?name=logins&${range}`);
  expect(page).toContain('<h1>Logins of administrators</h1>');
  expect(rowsIn(page, 'Logins of administrators').at(-1)?.slice(0, 3)).toEqual(['=ann', '0', '1']);
  const query = 'since=2026-03-11T00%3A00%3A00.000Z&until=2026-03-12T00%3A00%3A00.000Z&tz=UTC';
  expect(linksIn(page)).toMatchObject({
    'Private keys created and deleted': `/reports?name=keys&${query.replaceAll('.000Z', 'Z')}`,
    CSV: `/api/v1/reports/logins/csv?${query.replaceAll('.000Z', 'Z')}`,
    keys: '/reports?name=keys',
    audit: '/destinations/audit',
  });
  const nothing = await admin.page('/reports?name=keys&since=2026-01-01&until=2026-01-02');
  expect(nothing).toContain('No results in this range.');
  expect(linksIn(nothing)).not.toHaveProperty('CSV');
  expect(await admin.get(`/reports/logins?${range}`)).toMatchObject({
    rows: [{ Administrator: 'bob', Logins: '1' }],
  });
  await expect(admin.get('/reports/logins?since=2026-03-11&until=2026-03-10')).rejects.toThrow(
    'until: must be later than since',
  );
});

it('is a CSV file without formulas, which the operator log records', async () => {
  const page = await admin.page('/reports?name=logins&month=2026-03&tz=UTC');
  const [, link = ''] = /href="(\/api\/v1\/reports\/logins\/csv[^"]*)"/.exec(page) ?? [];
  const response = await fetch(`${admin.url}${link.replaceAll('&amp;', '&')}`);
  expect(response.headers.get('content-type')).toContain('text/csv');
  expect(Buffer.from(await response.arrayBuffer()).toString()).toBe(
    "\uFEFFAdministrator,Logins,Off hours,First,Last\r\n'=ann,2,1,2026-03-07 08:00:00,2026-03-10 08:00:00\r\nbob,1,0,2026-03-11 08:00:00,2026-03-11 08:00:00\r\n",
  );
  const entries = await admin.db
    .selectFrom('operator_log')
    .select(['subject', 'outcome', 'result'])
    .where('action', '=', 'events.export')
    .execute();
  expect(entries).toEqual([{ subject: 'report logins', outcome: 'done', result: { rows: 2 } }]);
});

it('lists the scheduled reports with how far they are', async () => {
  expect(rowsIn(await admin.page('/reports'), 'Scheduled reports')).toEqual([
    [
      'logins-monthly',
      'logins every month',
      'UTC',
      'audit',
      'none',
      '2026-03-01 00:00:00',
      'retrying the mail server is down',
    ],
    ['keys-monthly', 'keys every month', 'UTC', 'audit', 'none', 'waiting for serve', 'on schedule'],
  ]);
  expect(await admin.get('/report-schedules')).toMatchObject({
    items: [
      { name: 'logins-monthly', next_since: SINCE.toISOString(), failed_attempts: 1 },
      { name: 'keys-monthly', next_since: null, last_error: null },
    ],
  });
});

it('of a person needs a name, keeps it, and stands in the operator log', async () => {
  const anew = await admin.page('/reports?name=access&month=2026-03');
  expect(anew).toContain('Enter a person');
  expect(fieldsIn(anew)).toMatchObject({ name: 'access', user: '' });
  const page = await admin.page('/reports?name=access&month=2026-03&user=%3Dann');
  expect(fieldsIn(page)).toMatchObject({ user: '=ann' });
  expect(page).not.toContain('Enter a person');
  const looks = await admin.db
    .selectFrom('operator_log')
    .select('subject')
    .where('action', '=', 'timeline.read')
    .execute();
  expect(looks).toEqual([{ subject: '=ann' }]);
  await expect(admin.get('/reports/logins?month=march')).rejects.toThrow('answered 400');
  // A mistyped condition does not empty a page.
  const mistyped = await admin.page('/reports?name=logins&month=march');
  expect(mistyped).toMatch(/<p class="problem">month [^<]*2026-03/);
});
