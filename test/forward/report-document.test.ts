import { expect, it } from 'vitest';
import { textOf } from '../../src/forward/report-document.ts';

it('a report as text has its rows in columns, and says how many there are', () => {
  const document = {
    id: 'monthly 2026-03',
    schedule: 'monthly',
    report: 'logins',
    title: 'Logins',
    answers: 'Who logged in?',
    period: '2026-03',
    since: new Date('2026-03-01T00:00:00Z'),
    until: new Date('2026-04-01T00:00:00Z'),
    zone: 'UTC',
  };
  const rows = [
    { name: 'jane', logins: '12' },
    { name: 'administrator', logins: null },
  ];
  const [about, range, , ...table] = textOf({ ...document, rows, isCut: true }).split('\n');
  expect(about).toBe('Logins: Who logged in?');
  expect(range).toMatch(/^From 2026-03-01T00:00:00.000Z to 2026-04.* zone UTC\. 2 rows, and more\.$/);
  expect(table).toEqual(['name           logins', 'jane           12', 'administrator']);
  expect(textOf({ ...document, rows: [], isCut: false })).toMatch(/Nothing was found\.\n$/);
});
