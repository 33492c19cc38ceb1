import { beforeAll, describe, expect, it } from 'vitest';
import { REPORT_NAMES } from '../../../src/store/reports/report-names.ts';
import { parseSearch } from '../../../src/events/search-query.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { readOnlyQuery } from '../../../src/store/server/read-only-query.ts';
import {
  readReport,
  reportCsv,
  reportOf,
  type ReportRange,
  type ReportRow,
} from '../../../src/store/reports/reports.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { countEventsUpTo } from '../../../src/store/events/search-events.ts';
import { useDatabase } from '../../support/use-database.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { storeDeliveries } from '../../support/actions.ts';

const ENOUGH = 10_000;
/** All varied events, and in their last month those that a test knows. */
const YEAR: ReportRange = {
  since: new Date('2025-06-01'),
  until: new Date('2026-12-01'),
  zone: 'UTC',
  scope: ALL_SOURCES,
};
const MARCH: ReportRange = {
  since: new Date('2026-03-01'),
  until: new Date('2026-04-01'),
  zone: 'Europe/Berlin',
  scope: ['known'],
};

const test = useDatabase({ isVaried: true });
beforeAll(async () => {
  await maintainPartitions(test.db, new Date('2026-03-15'), {});
  const did = (time: string, userName: string, code: number, more: object = {}) =>
    auditRecord({ timeStamp: Date.parse(time), userName, code, ...more });
  const records = [
    did('2026-03-02T05:59:00Z', 'ann@example.com', 10_001), // Monday, 6:59 in Berlin
    did('2026-03-02T06:00:00Z', 'Ann@example.com', 10_001), // 7:00
    did('2026-03-02T17:59:59Z', 'ann@example.com', 10_001), // 18:59
    did('2026-03-02T18:00:00Z', 'ann@example.com', 10_001), // 19:00
    did('2026-03-07T11:00:00Z', 'bob@example.com', 10_001), // Saturday
    did('2026-03-03T11:00:00Z', 'bob@example.com', 40_001),
    did('2026-03-03T11:01:00Z', 'bob@example.com', 40_001),
    did('2026-03-03T11:02:00Z', 'ann@example.com', 40_003),
    did('2026-03-04T11:00:00Z', 'bob@example.com', 40_500, { hostNames: ['AP-Lobby', 'ap-lobby', 'AP-2'] }),
    did('2026-03-04T12:00:00Z', 'ann@example.com', 40_501, { hostNames: ['AP-Lobby'] }),
  ];
  const access = {
    timeStamp: Date.parse('2026-03-05T22:30:00Z'),
    username: 'eve@example.com',
    ssid: 'Guests',
    callingStationId: 'aa:bb:cc:00:11:22',
    reply: 'Access-Reject',
  };
  await storeDeliveries(
    test.db,
    queuedDelivery('AUDIT_LOG_ALL', records, { source: 'known' }),
    queuedDelivery('AUTHENTICATION_LOG_ALL', [access, { ...access, id: '2' }], { source: 'known' }),
  );
});

const rowsOf = (name: Parameters<typeof reportOf>[0], range: ReportRange) =>
  readReport(test.db, reportOf(name), range, ENOUGH);

describe('reports', () => {
  it('tell logins outside of working hours, in the zone that is asked for', async () => {
    expect(await rowsOf('logins', MARCH)).toEqual([
      {
        Administrator: 'Ann@example.com',
        Logins: '4',
        'Off hours': '2',
        First: '2026-03-02 06:59:00',
        Last: '2026-03-02 19:00:00',
      },
      {
        Administrator: 'bob@example.com',
        Logins: '1',
        'Off hours': '1',
        First: '2026-03-07 12:00:00',
        Last: '2026-03-07 12:00:00',
      },
    ]);
  });

  it('tell who created and deleted keys, and which devices were changed', async () => {
    expect(await rowsOf('keys', MARCH)).toMatchObject([
      { Administrator: 'bob@example.com', Created: '2', Deleted: '0' },
      { Administrator: 'ann@example.com', Created: '0', Deleted: '1' },
    ]);
    expect(await rowsOf('changes', MARCH)).toMatchObject([
      { Device: 'AP-Lobby', Records: '2', People: '2' },
      { Device: 'AP-2', Records: '1', People: '1' },
    ]);
    const actions = (await rowsOf('administration', MARCH)).map((row) => [
      row['Administrator'],
      row['Action'],
    ]);
    expect(actions).toContainEqual(['bob@example.com', 'Private key created']);
    expect(actions).toContainEqual(['bob@example.com', 'Configuration changed']);
  });

  it('tell where a person was, by days of the zone', async () => {
    expect(await rowsOf('access', { ...MARCH, user: 'EVE@example.com' })).toEqual([
      {
        Day: '2026-03-05',
        Network: 'Guests',
        Client: 'aa:bb:cc:00:11:22',
        Reply: 'Access-Reject',
        Logins: '2',
        First: '2026-03-05 23:30:00',
        Last: '2026-03-05 23:30:00',
      },
    ]);
    expect(await rowsOf('access', { ...MARCH, user: "x' or 'a'='a" })).toEqual([]);
  });

  it('lead to searches that find as many events as they count', async () => {
    const counted = (row: ReportRow) =>
      ['Records', 'Logins', 'Created', 'Deleted'].reduce(
        (sum, heading) => sum + Number(row[heading] ?? 0),
        0,
      );
    let searches = 0;
    for (const name of REPORT_NAMES) {
      const { searchOf } = reportOf(name);
      if (searchOf === undefined) continue;
      for (const row of await rowsOf(name, YEAR)) {
        const search = searchOf(row);
        if (search === undefined) continue;
        const { terms } = parseSearch(search);
        const { since, until } = YEAR;
        const found = await countEventsUpTo(test.db, ALL_SOURCES, { terms, since, until }, ENOUGH);
        expect({ name, search, found }).toEqual({ name, search, found: counted(row) });
        searches += 1;
      }
    }
    expect(searches).toBeGreaterThan(10);
  });

  it('are of the sources that the reader may see', async () => {
    const total = async (scope: ReportRange['scope']) =>
      (await rowsOf('administration', { ...YEAR, scope })).reduce(
        (sum, { Records: n }) => sum + Number(n),
        0,
      );
    const parts = await Promise.all(['default', 'branch', 'known'].map((source) => total([source])));
    expect(parts.every((part) => part > 0)).toBe(true);
    expect(parts.reduce((sum, part) => sum + part, 0)).toBe(await total(ALL_SOURCES));
    expect(await total([])).toBe(0);
  });

  it('take no value for SQL', async () => {
    const hostile = ["' or 'a'='a", String.raw`\' or 1=1 --`, "'; drop table audit_events; --", '$1', '\\'];
    const logins = await rowsOf('logins', YEAR);
    const countsOf = (rows: readonly ReportRow[]) => rows.map(({ Logins }) => Logins).join(',');
    for (const text of hostile) {
      for (const name of REPORT_NAMES) {
        const range = { ...YEAR, user: text, scope: [text] };
        expect({ name, rows: await rowsOf(name, range) }).toEqual({ name, rows: [] });
      }
      // Postgres takes some of them for a zone of POSIX.
      const inZone = rowsOf('logins', { ...YEAR, zone: text });
      expect(await inZone.then(countsOf, String)).toMatch(
        new RegExp(`^(?:${countsOf(logins)}|.*time zone.*)$`),
      );
    }
  });

  it('lead to no search that would find others', () => {
    const { searchOf } = reportOf('keys');
    for (const user of [null, 'a"b', 'a*', 'a,b', 'a\\b'])
      expect(searchOf?.({ Administrator: user })).toBeUndefined();
    expect(reportOf('administration').searchOf?.({ Administrator: 'ann', Code: null })).toBeUndefined();
  });

  it('as CSV run no formula, and say when they have no rows', () => {
    expect(reportCsv([])).toBe('no rows\r\n');
    const rows = [
      { Person: '=1', Code: null },
      { Person: 'ann', Code: '2' },
    ];
    expect(reportCsv(rows)).toBe("Person,Code\r\n'=1,\r\nann,2\r\n");
  });

  it.each(REPORT_NAMES)('%s is the statement that it shows', async (name) => {
    const range = { ...YEAR, user: 'ann' };
    const { columns, rows } = await readOnlyQuery(test.readerUrl, reportOf(name).statement(range));
    const read = await rowsOf(name, range);
    expect(
      rows.map((row) => Object.fromEntries(columns.map((column, index) => [column.name, row[index]]))),
    ).toEqual(read);
  });
});
