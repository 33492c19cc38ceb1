import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deliveriesArea } from '../../src/console/deliveries/deliveries-area.ts';
import { quarantineArea } from '../../src/console/quarantine/quarantine-area.ts';
import { lastAction, storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { emptyTables } from '../support/database.ts';
import { auditRecord } from '../support/deliveries.ts';
import { factsIn, fieldsIn, rowsIn, textIn } from '../support/read-page.ts';
import { useConsole } from '../support/use-console.ts';

const admin = useConsole((db) => [
  deliveriesArea({ db }),
  quarantineArea({ db, maxBodyBytes: 1024 * 1024, logger: pino({ level: 'silent' }) }),
]);
beforeEach(() => emptyTables(admin.db));

const readable = (description = 'at last') => JSON.stringify([auditRecord({ description })]);

const listed = z.object({
  items: z.array(z.object({ quarantine_id: z.string(), state: z.string() })),
  next_cursor: z.string().nullable(),
  total: z.number(),
});
const list = async (query = '') => listed.parse(await admin.get(`/quarantine${query}`));

/** Sets a body aside and gives its id. */
async function quarantine(body: string | Buffer, source = 'default'): Promise<string> {
  const before = new Set((await list('?state=all')).items.map((item) => item.quarantine_id));
  await storeDeliveries(admin.db, unreadableDelivery(body, { source }));
  const added = (await list('?state=all')).items.find((item) => !before.has(item.quarantine_id));
  return added?.quarantine_id ?? '';
}

describe('the list of quarantine', () => {
  it('has what is open, newest first, page by page, and counts it', async () => {
    await Promise.all(['a', 'b', 'c'].map((body) => storeDeliveries(admin.db, unreadableDelivery(body))));
    const first = await list('?limit=2');
    const second = await list(`?limit=2&cursor=${first.next_cursor}`);
    const ids = [...first.items, ...second.items].map((item) => item.quarantine_id);
    expect([new Set(ids).size, first.total, second.next_cursor]).toEqual([3, 3, null]);
    const page = await admin.page('/quarantine?limit=2');
    const row = ['open', 'AUDIT_LOG_ALL', 'default', '1 bytes', 'the body is not JSON'];
    expect(rowsIn(page, 'Quarantined items, newest first').map((cells) => cells.slice(2))).toEqual([
      row,
      row,
    ]);
    expect(textIn(page)).toContain(
      '3 open items, 2 on this page Select this page Replay all 3 Discard all 3',
    );
    expect(page).toContain('data-total="3"');
  });

  it('is filtered by source, reason and state', async () => {
    const id = await quarantine('{', 'north');
    await quarantine('{');
    expect((await list('?source=north&reason=not%20json')).items).toMatchObject([{ quarantine_id: id }]);
    expect((await list('?reason=teapot')).items).toEqual([]);
    expect((await list('?state=discarded')).items).toEqual([]);
    const discarded = await admin.page('/quarantine?state=discarded&source=north');
    expect(discarded).toContain('No items match');
    expect(fieldsIn(discarded)).toMatchObject({ state: 'discarded', source: 'north', type: '', reason: '' });
    expect(await admin.page('/quarantine?source=none')).toContain('No open items.');
    const some = await admin.page('/quarantine?source=north&reason=json&state=all');
    expect(textIn(some)).toContain('1 item Select this page Replay Discard');
    expect(some).toContain(
      'data-matching="{&quot;source&quot;:&quot;north&quot;,&quot;reason&quot;:&quot;json&quot;',
    );
    expect(some).toContain('data-total="0"');
  });
});

it('the navigation counts what is open, of the sources that the visitor sees, to 99', async () => {
  expect(await admin.page('/quarantine')).not.toContain('open</span>');
  await quarantine('{');
  expect(await admin.page('/deliveries')).toContain('title="Quarantine: 1 open"');
  await Promise.all(
    Array.from({ length: 100 }, (_, index) => storeDeliveries(admin.db, unreadableDelivery(`{${index}`))),
  );
  expect(await admin.page('/deliveries')).toContain('title="Quarantine: 99+ open"');
});

const replayed = z.object({
  results: z.array(z.looseObject({ quarantine_id: z.string() })),
  next_cursor: z.string().nullable(),
});

describe('a replay', () => {
  it('tells what came of each, and stands in the operator log', async () => {
    const good = await quarantine(readable());
    const bad = await quarantine('{"still');
    const missing = '01a20087-2e5c-8687-826d-5999ab661330';
    const answer = await admin.post('/quarantine/replay', { ids: [good, bad, missing] });
    const { results } = replayed.parse(answer);
    const resultOf = (id: string) => results.find((one) => one.quarantine_id === id);
    expect(resultOf(good)).toMatchObject({ outcome: 'replayed', events: 1, again: [] });
    expect(resultOf(bad)).toMatchObject({
      outcome: 'refused',
      events: 0,
      again: [],
    });
    expect(resultOf(missing)).toMatchObject({ outcome: 'unknown' });
    const of = async (id: string) => factsIn(await admin.page(`/quarantine/${id}`));
    expect(await of(good)).toMatchObject({
      State: expect.stringMatching(/^replayed 20/) as unknown,
      'Replayed as delivery': expect.stringMatching(/ : 1 event, 0 duplicates$/) as unknown,
    });
    expect(await of(bad)).toEqual({
      State: 'open',
      Reason: 'the body is not JSON',
      'Received (UTC)': expect.stringMatching(/^20/) as unknown,
      Source: 'default',
      Type: 'AUDIT_LOG_ALL',
      Size: '7 bytes',
      Delivery: expect.stringMatching(/^0/) as unknown,
      'Item ID': bad,
    });
    expect(await lastAction(admin.db)).toMatchObject({
      action: 'quarantine.replay',
      operator: 'local user',
      outcome: 'done',
      details: { id_count: 3 },
      result: { replayed: 1, events: 1, again: 0 },
    });
  });

  it('of all that match goes on part by part, and does not take up what it has set aside itself', async () => {
    for (const body of ['{1', '{2', '{3']) await quarantine(body);
    await quarantine('{4', 'north');
    let cursor: string | null = null;
    let count = 0;
    do {
      const body = { matching: { source: 'default' }, limit: 2, ...(cursor !== null && { cursor }) };
      const answer: z.output<typeof replayed> = replayed.parse(await admin.post('/quarantine/replay', body));
      count += answer.results.length;
      cursor = answer.next_cursor;
    } while (cursor !== null);
    expect(count).toBe(3);
    expect((await list()).total).toBe(4);
  });

  it.each([
    ['neither ids nor what is to match', {}],
    ['both', { ids: ['01a20087-2e5c-8687-826d-5999ab661330'], matching: {} }],
    ['too many', { matching: {}, limit: 1_001 }],
  ])('is refused with %s', async (_what, body) => {
    await quarantine(readable());
    await expect(admin.post('/quarantine/replay', body)).rejects.toThrow('answered 400');
    expect((await list()).total).toBe(1);
  });
});

it('discarding empties the bytes of what is chosen, and stands in the operator log', async () => {
  const id = await quarantine('{"a secret');
  const other = await quarantine('{');
  expect(await admin.post('/quarantine/discard', { ids: [id] })).toEqual({
    discarded: 1,
    next_cursor: null,
  });
  expect(await admin.get(`/quarantine/${id}`)).toMatchObject({ state: 'discarded', bytes: 10 });
  expect(await admin.get(`/quarantine/${other}`)).toMatchObject({ state: 'open' });
  const page = await admin.page(`/quarantine/${id}`);
  expect(page).not.toContain('a secret');
  expect(page).toContain('The content was discarded.');
  expect(page).not.toContain('data-action="/quarantine/replay"');
  expect(await admin.page(`/quarantine/${other}`)).toContain('data-action="/quarantine/replay"');
  expect(await lastAction(admin.db)).toMatchObject({
    action: 'quarantine.discard',
    subject: id,
    result: { discarded: 1 },
  });
});

describe('the page of one', () => {
  it('shows text as text, without letting it be markup', async () => {
    const page = await admin.page(`/quarantine/${await quarantine('<script>alert(1)</script>')}`);
    expect(page).toContain('&lt;script>alert(1)');
    expect(page).not.toContain('<script>alert');
  });

  it('shows other bytes in hexadecimal digits, and gives them as they came', async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x41]);
    const id = await quarantine(bytes);
    expect(await admin.page(`/quarantine/${id}`)).toContain('00000000  ff fe 00 41');
    const response = await fetch(`${admin.url}/api/v1/quarantine/${id}/content`);
    expect(response.headers.get('content-disposition')).toContain('attachment');
    expect(Buffer.from(await response.arrayBuffer())).toEqual(bytes);
  });

  it('is not found when it is not there', async () => {
    await expect(admin.page('/quarantine/01a20087-2e5c-8687-826d-5999ab661330')).rejects.toThrow(
      'answered 404',
    );
  });
});
