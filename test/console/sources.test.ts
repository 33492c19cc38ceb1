import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { storeDeliveries, unreadableDelivery } from '../support/actions.ts';
import { deliverAndCount } from '../support/arrivals.ts';
import { contentOf, factsIn, fieldsIn, linksIn, rowsIn, textIn } from '../support/read-page.ts';
import { sourcesForTests } from '../support/sources.ts';
import { useConsole } from '../support/use-console.ts';

const HOUR = 3_600_000;
const ago = (hours: number) => new Date(Date.now() - hours * HOUR);

const admin = useConsole((db) => [sourcesForTests(db)], {
  seed: async (db) => {
    const messageType = 'AUDIT_LOG_ALL';
    await storeDeliveries(db, unreadableDelivery('{', { source: 'oak' }), unreadableDelivery('['));
    await storeDeliveries(db, unreadableDelivery('{', { source: 'oak' }));
    await deliverAndCount(
      db,
      { receivedAt: ago(3), messageType, source: 'elm', events: 1_200 },
      { receivedAt: ago(2), messageType, source: 'elm', events: 12 },
      { receivedAt: ago(50), messageType, source: 'fir', events: 5 },
      { receivedAt: ago(1), messageType, source: 'oak', events: 7 },
    );
    await sql`
      insert into coverage (source, message_type, quarter, state, healed, matched, only_webhook, compared_at)
      select 'elm', 'AUDIT_LOG_ALL', date_bin('1 day', now() - ago, 'epoch'), state, 0, 1, 0, now()
      from (values (interval '1 day', 'healed'), ('1 day', 'whole'), ('2 days', 'whole'), ('40 days', 'whole'))
        as compared (ago, state) on conflict do nothing`.execute(db);
    await sql`insert into gaps (source, message_type, began_at, reason)
      values ('fir', 'AUDIT_LOG_ALL', ${ago(3)}, 'silence'), (null, null, ${ago(1)}, 'downtime')`.execute(db);
  },
});

const Made = z.object({ name: z.string(), secret: z.string().nullable() });
const add = async (body: object) => Made.parse(await admin.post('/sources', body));

const Listed = z.object({ items: z.array(z.looseObject({ name: z.string() })) });
const lineOf = async (name: string) =>
  Listed.parse(await admin.get('/sources')).items.find((one) => one.name === name);

const pageOf = (name: string) => admin.page(`/sources/${name}`);

it('a source is added with all that it can have, rotated, and disabled', async () => {
  expect((await add({ name: 'elm' })).secret).toMatch(/^\S{16,}$/);
  expect(
    await add({ name: 'oak', secret: 'a-given-secret-0123456789', message_types: ['SMS_LOG_ALL'] }),
  ).toEqual({
    name: 'oak',
    secret: null,
  });
  const cloud = { api_url: 'https://api.example', username: 'ada', password: 'a-password' };
  await add({ name: 'fir', ...cloud, deliveries_per_second: '5', bytes_per_second: 1_024 });
  expect(await lineOf('fir')).toEqual({
    name: 'fir',
    origin: 'database',
    state: 'in use',
    secrets: 1,
    old_secrets_until: null,
    api_url: 'https://api.example',
    message_types: null,
    deliveries_per_second: 5,
    bytes_per_second: 1_024,
  });
  expect(await lineOf('oak')).toMatchObject({ message_types: ['SMS_LOG_ALL'], api_url: null });

  const rotated = Made.parse(await admin.post('/sources/elm/rotate', { keep_hours: '2' }));
  expect(rotated).toEqual({ name: 'elm', secret: expect.stringMatching(/^\S{16,}$/) as unknown });
  const elm = await lineOf('elm');
  const until = Date.parse(String(elm?.['old_secrets_until']));
  expect([elm?.['secrets'], Math.round((until - Date.now()) / 60_000)]).toEqual([2, 120]);
  await admin.post('/sources/oak/rotate', {});
  expect(await lineOf('oak')).toMatchObject({ secrets: 2, old_secrets_until: null });
  expect(factsIn(await pageOf('elm'))['secrets']).toMatch(/^2 \(old until 20/);
  expect(textIn(await pageOf('oak'))).toContain('Rotate Drop old Disable');
  await admin.post('/sources/oak/drop-old', {});
  expect(await lineOf('oak')).toMatchObject({ secrets: 1 });
  await admin.post('/sources/fir/disable', {});
  expect(await lineOf('fir')).toMatchObject({ state: 'disabled' });
  await expect(admin.post('/sources/elm/rotate', { keep_hours: 8_761 })).rejects.toThrow('answered 400');
});

it('the page has what each source sent and what is open of it, and leads to it', async () => {
  const page = await admin.page('/sources');
  expect(
    rowsIn(page, 'Sources').map(([name, state, last, , events, , items]) => [
      name,
      state,
      last,
      events,
      items,
    ]),
  ).toEqual([
    ['oak', 'quarantine', expect.stringMatching(/^\d+ s ago$/), '7', '2 in quarantine'],
    ['default', 'quarantine', expect.stringMatching(/^\d+ s ago$/), '0', '1 in quarantine'],
    ['fir', 'silent', expect.stringMatching(/^2 d/), '0', '3 h ago · rejects deliveries'],
    ['elm', 'arriving', '2 h ago', '1,212', ''],
  ]);
  expect(contentOf(page)).toMatch(/downtime<\/span> <span class="dim">all sources/);
  expect(page.match(/aria-label="[^"]* compared[^"]*"/g)).toContain(
    'aria-label="1 day recovered, 1 day complete, 28 days not compared"',
  );
  expect(linksIn(page)).toMatchObject({
    elm: '/sources/elm',
    '1,212': '/events?source=elm&since=24h',
    '2 in quarantine': '/quarantine?source=oak',
    Name: '/sources?order=name',
    'Open items ↓': '/sources?order=open',
    Events: '/sources?order=events',
  });
  expect(rowsIn(await admin.page('/sources?state=attention'), 'Sources').map(([name]) => name)).toEqual([
    'oak',
    'default',
    'fir',
  ]);
  expect(rowsIn(await admin.page('/sources?state=disabled'), 'Sources').map(([name]) => name)).toEqual([
    'fir',
  ]);
  expect(linksIn(page)).toMatchObject({
    'All 4': '/sources?state=all',
    'Waiting 0': '/sources?state=waiting',
  });
});

it('the page of a source says what of it is set up, and what to enter in the cloud', async () => {
  const [oak, fir] = [await pageOf('oak'), await pageOf('fir')];
  expect(rowsIn(oak, 'Set-up').map(([title, state, detail]) => [title, state, detail])).toEqual([
    ['Enabled', 'done', ''],
    ['Subscriptions on record', 'open', expect.stringContaining('No API credentials')],
    ['First delivery received', 'done', expect.stringMatching(/^the last one \d+ s ago$/)],
    ['Events stored', 'done', '7 in 24 hours'],
  ]);
  expect(rowsIn(oak, 'Message types')).toEqual([
    ['SMS_LOG_ALL', 'https://ADDRESS/ingest/oak/SMS_LOG_ALL', 'none on record', 'never'],
    ['AUDIT_LOG_ALL', expect.any(String), 'none on record', expect.stringMatching(/ ago$/)],
  ]);
  expect(rowsIn(fir, 'Set-up').map(([title, state]) => [title, state])).toEqual([
    ['Enabled', 'open'],
    ['Subscriptions on record', 'open'],
    ['First delivery received', 'done'],
    ['Events stored', 'open'],
    ['Compared with the history of the cloud', 'open'],
  ]);
  expect(rowsIn(await pageOf('elm'), 'Set-up')).toHaveLength(4);
  expect(factsIn(fir)).toMatchObject({
    'defined in': 'database',
    secrets: '1',
    API: 'https://api.example',
    'message types': 'default',
    limits: '5 deliveries/s, 1.0 KiB/s',
  });
  expect(factsIn(oak)).toMatchObject({ API: 'none', 'message types': 'SMS_LOG_ALL', limits: 'none' });
  for (const unchangeable of [fir, await pageOf('default')]) expect(unchangeable).not.toContain('Rotate');
  await expect(pageOf('elsewhere')).rejects.toThrow('404');
  const form = await admin.page('/add-source');
  expect(Object.keys(fieldsIn(form))).toEqual(
    expect.arrayContaining(['name', 'api_url', 'api_token', 'username', 'password', 'secret']),
  );
});

it.each([
  ['', ['oak', 'default', 'fir', 'elm']],
  ['?order=name', ['default', 'elm', 'fir', 'oak']],
  ['?order=events', ['elm', 'oak', 'default', 'fir']],
  ['?q=%20E', ['default', 'elm']],
  ['?q=a&order=open', ['oak', 'default']],
  ['?q=none', []],
])('sources are found and ordered by %j', async (query, names) => {
  const page = await admin.page(`/sources${query}`);
  expect(rowsIn(page, 'Sources').map(([name]) => name)).toEqual(names);
  const { order = 'open' } = Object.fromEntries(new URLSearchParams(query));
  expect(fieldsIn(page)).toMatchObject({ order });
  expect(contentOf(page).includes('No source has “none” in its name.')).toBe(names.length === 0);
  const sorted = order === 'name' ? 'ascending' : 'descending';
  expect(/aria-sort="(\w+)"/.exec(page)?.[1]).toBe(names.length === 0 ? undefined : sorted);
});

it('the latest deliveries come first in the order last', async () => {
  const names = rowsIn(await admin.page('/sources?order=last'), 'Sources').map(([name]) => name);
  expect(names.slice(2)).toEqual(['elm', 'fir']);
});
