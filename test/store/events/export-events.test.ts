import { exactTerms } from '../../../src/events/search-query.ts';
import { describe, expect, it } from 'vitest';
import { MESSAGE_TYPES } from '../../../src/events/domain.ts';
import { parseExactJson } from '../../../src/events/exact-json.ts';
import { FIELDS } from '../../../src/events/message-types.ts';
import type { EventFilter } from '../../../src/store/events/event-filter.ts';
import { exportLines } from '../../../src/store/events/export-events.ts';
import type { ExportFormat } from '../../../src/store/events/export-format.ts';
import { findEvents } from '../../support/find-events.ts';
import { viewColumns } from '../../../src/events/stored-event.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { useDatabase } from '../../support/use-database.ts';
import { waitFor } from '../../support/wait-for.ts';
import { parseCsv } from './parse-csv.ts';

const test = useDatabase({ isVaried: true });

async function exportText(filter: EventFilter, format: ExportFormat): Promise<string> {
  return (await Array.fromAsync(exportLines(test.db, ALL_SOURCES, filter, { format }))).join('');
}

const toLines = (text: string) => text.split('\n').slice(0, -1);

/** Undoes what keeps a spreadsheet from running a cell. */
const undefuse = (cell: string | null | undefined) => cell?.replace(/^'(?=[=+\-@\t\r])/, '') ?? null;

describe('an export', () => {
  it.each([{}, { user: 'ann', text: 'quick' }, { source: 'nowhere' }])(
    'as NDJSON is what a search prints as JSON: %j',
    async (fields) => {
      const filter = { terms: exactTerms(fields) };
      const events = await findEvents(test.db, ALL_SOURCES, filter, { limit: 10_000 });
      const lines = toLines(await exportText(filter, 'ndjson')).map((line) => parseExactJson(line));
      expect(lines).toEqual(events.map((event) => ({ ...viewColumns(event), payload: event.payload })));
    },
  );

  it('as CSV has the columns of the view, and every cell comes back as it was', async () => {
    const events = await findEvents(test.db, ALL_SOURCES, {}, { limit: 10_000 });
    const [header, ...rows] = parseCsv(await exportText({}, 'csv'));
    expect(header).toEqual([...Object.keys(viewColumns(first(events))), 'payload']);
    expect(rows.map((row) => row.slice(0, -1).map(undefuse))).toEqual(
      events.map((event) => Object.values(viewColumns(event))),
    );
    expect(rows.map((row) => parseExactJson(row.at(-1) ?? ''))).toEqual(events.map(({ payload }) => payload));
  });

  it.each(MESSAGE_TYPES)('of %s alone has its typed columns', async (messageType) => {
    const filter = { terms: exactTerms({ type: [messageType] }) };
    const events = await findEvents(test.db, ALL_SOURCES, filter, { limit: 10_000 });
    const lines = toLines(await exportText(filter, 'ndjson')).map((line) => parseExactJson(line));
    expect(lines).toEqual(
      events.map((event) => ({ ...viewColumns(event), ...event.columns, payload: event.payload })),
    );
    const [header = [], ...rows] = parseCsv(await exportText(filter, 'csv'));
    expect(rows).toHaveLength(events.length);
    for (const { column } of FIELDS[messageType]) {
      const at = header.lastIndexOf(column);
      const expected = events.map(({ columns }) => columns[column] ?? null);
      const cells = rows.map((row) => undefuse(row[at]));
      expect(cells).toEqual(expected.map((value) => (Array.isArray(value) ? JSON.stringify(value) : value)));
    }
  });

  it('leaves no cell of a text that a spreadsheet would run as a formula', async () => {
    const [header = [], ...rows] = parseCsv(
      await exportText({ terms: exactTerms({ type: ['EMAIL_LOG_ALL'] }) }, 'csv'),
    );
    const users = rows.map((row) => row[header.indexOf('username')]);
    expect(users).toContain("'=cmd|calc");
    expect(users.some((user) => user?.startsWith('='))).toBe(false);
    // A number with a sign is a number.
    const audits = parseCsv(await exportText({ terms: exactTerms({ type: ['AUDIT_LOG_ALL'] }) }, 'csv'));
    expect(audits.map((row) => row[audits[0]?.indexOf('code') ?? 0])).toContain('-7');
  });

  it('as CSV has the times of a zone, and begins with a byte order mark, if so wanted', async () => {
    const counted: number[] = [];
    const as = { format: 'csv', zone: 'Asia/Kolkata', bom: true } as const;
    const lines = exportLines(test.db, ALL_SOURCES, {}, as, undefined, (rows) => counted.push(rows));
    const text = (await Array.fromAsync(lines)).join('');
    expect(text.startsWith('\uFEFF')).toBe(true);
    const [header = [], ...rows] = parseCsv(text.slice(1));
    const events = await findEvents(test.db, ALL_SOURCES, {}, { limit: 10_000 });
    for (const [column, times] of [
      ['occurred_at', events.map(({ occurredAt }) => occurredAt)],
      ['received_at', events.map(({ receivedAt }) => receivedAt)],
    ] as const) {
      const cells = rows.map((row) => row[header.indexOf(column)] ?? '');
      expect(cells.every((cell) => cell.endsWith('+05:30'))).toBe(true);
      expect(cells.map((cell) => new Date(cell).toISOString())).toEqual(times);
    }
    expect(counted.reduce((sum, rows) => sum + rows, 0)).toBe(rows.length);
    expect(Math.max(...counted)).toBeLessThanOrEqual(500);
  });

  it('shows the moment in which it began', async () => {
    const lines = exportLines(
      test.db,
      ALL_SOURCES,
      { terms: exactTerms({ type: ['SMS_LOG_ALL'] }) },
      { format: 'csv' },
    );
    await lines.next();
    await insertMany(1, 'late');
    const rest = (await Array.fromAsync(lines)).join('');
    expect(rest).not.toContain('late');
    expect(await exportText({ terms: exactTerms({ source: 'late' }) }, 'ndjson')).toContain('late');
  });

  it('ends with the reason of its signal', async () => {
    const stop = new AbortController();
    const lines = exportLines(test.db, ALL_SOURCES, {}, { format: 'csv' }, stop.signal);
    await lines.next();
    stop.abort(new Error('enough'));
    await expect(Array.fromAsync(lines)).rejects.toThrow('enough');
  });

  it('reads no further ahead than a page of rows, however slow its reader is', async () => {
    await insertMany(6_000, 'many');
    let rowsRead = 0;
    const db = test.db.withPlugin({
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        rowsRead += result.rows.length;
        return result;
      },
    });
    const lines = exportLines(
      db,
      ALL_SOURCES,
      { terms: exactTerms({ source: 'many' }) },
      { format: 'ndjson' },
    );
    await lines.next();
    await waitFor(() => rowsRead >= 2_000);
    // By the time of these answers the next rows would be asked for, and the ones behind them.
    for (let time = 0; time < 20; time += 1) await findEvents(test.db, ALL_SOURCES, {}, { limit: 100 });
    expect(rowsRead).toBeLessThan(2_100);
    await lines.return(undefined);
  });
});

function first<T>(values: readonly T[]): T {
  const [value] = values;
  if (value === undefined) throw new Error('there is none');
  return value;
}

async function insertMany(count: number, source: string): Promise<void> {
  await test.query`
    insert into log_entries (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
    select date_trunc('milliseconds', now()), now(), gen_random_uuid(), gen_random_uuid(), ${source}, 'SMS_LOG_ALL', 'webhook', '{}'
    from generate_series(1, ${count}::int)`;
}
