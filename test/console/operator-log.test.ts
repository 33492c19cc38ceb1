import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { operatorLogArea } from '../../src/console/operator-log/operator-log-area.ts';
import { actionSchema } from '../../src/console/operator-log/operator-log-entries.ts';
import { recordAction } from '../../src/store/access/operator-log.ts';
import { waitFor } from '../support/wait-for.ts';
import { useConsole } from '../support/use-console.ts';

const entry = actionSchema.extend({ began_at: z.iso.datetime(), ended_at: z.iso.datetime().nullable() });
const page = z.object({ items: z.array(entry), next_cursor: z.string().nullable() });

const admin = useConsole((db) => [operatorLogArea({ db })]);

type Entry = z.output<typeof actionSchema>;

test('before anybody did anything the page says what will stand there', async () => {
  expect(await admin.get('/operator-log')).toEqual({ items: [], next_cursor: null });
  expect(await admin.page('/operator-log')).toContain('No entries yet');
});

test('an entry says who, by which way, what, to what, what was asked for and what came of it', async () => {
  const operator = { name: 'anna <b>', via: 'console' } as const;
  const action = {
    operator,
    action: 'destination.rewind',
    subject: 'siem',
    details: { to: '2026-01-01' },
  } as const;
  await recordAction(
    admin.db,
    action,
    async () => 5,
    (events) => ({ events_again: events }),
  );
  const failing = { operator: { name: 'bob@host', via: 'command' }, action: 'destination.test' } as const;
  const attempt = recordAction(admin.db, failing, () => Promise.reject(new Error('certificate has expired')));
  await expect(attempt).rejects.toThrow('certificate has expired');

  const { items } = page.parse(await admin.get('/operator-log'));
  expect(items).toMatchObject([
    { operator: 'bob@host', via: 'command', outcome: 'failed', result: { error: 'certificate has expired' } },
    {
      operator: 'anna <b>',
      via: 'console',
      action: 'destination.rewind',
      subject: 'siem',
      details: { to: '2026-01-01' },
      outcome: 'done',
      result: { events_again: 5 },
    },
  ]);
  const text = await admin.page('/operator-log');
  expect(text).toContain('anna &lt;b>');
  expect(text).toContain('certificate has expired');
});

test('an action whose process was killed is shown as running', async () => {
  await admin.query`insert into operator_log (operator, via, action) values ('carl', 'api', 'events.export')`;
  expect(page.parse(await admin.get('/operator-log?limit=1')).items).toMatchObject([
    { outcome: null, ended_at: null },
  ]);
  expect(await admin.page('/operator-log?limit=1')).toContain('running');
});

test('pages follow each other without a gap or a repetition, whatever is done meanwhile', async () => {
  const insert = (count: number) =>
    admin.query`insert into operator_log (operator, via, action, subject)
      select 'dora', 'api', 'destination.pause', n::text from generate_series(1, ${count}::int) as n`;
  await insert(25);
  const rows = await admin.query<{ id: string }>`select id from operator_log order by id desc`;
  const seen: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const found: z.output<typeof page> = page.parse(
      await admin.get(`/operator-log?limit=10&cursor=${cursor}`),
    );
    for (const { id } of found.items) seen.push(id);
    cursor = found.next_cursor;
    await insert(1);
  }
  expect(seen).toEqual(rows.map(({ id }) => id));
  await expect(admin.get('/operator-log?cursor=1;drop')).rejects.toThrow('answered 400');
});

test('the page leads to what is older, and back to the newest', async () => {
  const newest = await admin.page('/operator-log?limit=5');
  const older =
    /href="(\/operator-log\?limit=5&amp;cursor=\d+)"/.exec(newest)?.[1]?.replace('&amp;', '&') ?? '';
  expect(newest).not.toContain('>Newest<');
  expect(await admin.page(older)).toContain('>Newest<');
});

test.each([
  ['operator=dora', ({ operator }: Entry) => operator === 'dora'],
  ['action=events.export', ({ action }: Entry) => action === 'events.export'],
  ['operator=dora&action=events.export', () => false],
  ['until=1970-01-02', () => false],
  ['since=1h', () => true],
])('entries are found by %s', async (query, matches) => {
  const all = page.parse(await admin.get('/operator-log?limit=500')).items;
  const found = page.parse(await admin.get(`/operator-log?limit=500&${query}`)).items;
  expect(found).toEqual(all.filter(matches));
  expect(await admin.page(`/operator-log?${query}`)).toContain(
    found.length > 0 ? '<table>' : 'No entries match.',
  );
});

test('the entries that the page shows are exported as CSV and NDJSON, which is recorded', async () => {
  const query = `operator=${encodeURIComponent('anna <b>')}&action=destination.rewind`;
  expect(await admin.page(`/operator-log?${query}`)).toContain(
    `/api/v1/operator-log/export?operator=anna+%3Cb%3E&amp;action=destination.rewind&amp;format=csv&amp;tz=UTC&amp;bom=true`,
  );
  const csv = await (await fetch(`${admin.url}/api/v1/operator-log/export?${query}&tz=Europe/Berlin`)).text();
  const shown = await fetch(`${admin.url}/api/v1/operator-log/export?${query}&bom=true`);
  expect(
    Buffer.from(await shown.arrayBuffer())
      .subarray(0, 5)
      .toString(),
  ).toBe('\uFEFFid');
  const [header, line, ...rest] = csv.trimEnd().split('\r\n');
  expect(header).toBe('id,began_at,operator,via,action,subject,details,ended_at,outcome,result');
  expect(line).toMatch(
    /^\d+,\d{4}-\S+\+0[12]:00,anna <b>,console,destination\.rewind,siem,"\{""to"":""2026-01-01""\}",\S+,done,"\{""events_again"":5\}"$/,
  );
  expect(rest).toEqual([]);
  const response = await fetch(`${admin.url}/api/v1/operator-log/export?${query}&format=ndjson`);
  expect(response.headers.get('content-disposition')).toMatch(
    /^attachment; filename="?xiq-sink-operator-log-\S+\.ndjson"?$/,
  );
  const text = await response.text();
  const { items } = page.parse(await admin.get(`/operator-log?${query}`));
  expect([entry.parse(JSON.parse(text))]).toEqual(items);
  const recorded = await waitFor(async () => {
    const [last] = page.parse(await admin.get('/operator-log?action=events.export')).items;
    return last?.outcome === null ? undefined : last;
  });
  expect(recorded).toMatchObject({
    subject: 'operator log',
    details: { format: 'ndjson', operator: 'anna <b>', action: 'destination.rewind' },
    outcome: 'done',
    result: { rows: 1, sha256: createHash('sha256').update(text).digest('hex') },
  });
});
