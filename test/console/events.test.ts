import { hash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { errorBody } from '../../src/console/api/openapi.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { ask } from '../support/ask.ts';
import { waitFor } from '../support/wait-for.ts';
import { storeAudits } from '../support/actions.ts';
import { ACCESS_POINTS, AUDIT_EVENTS, LONG_NUMBER, RANGE, seedBulk, seedEvents } from './seeded-events.ts';
import { useConsole } from '../support/use-console.ts';
import { eventsForTests } from '../support/events-area.ts';

const BULK = 10_000;

const admin = useConsole((db) => [eventsForTests(db, 'choosy')], {
  logs: true,
  seed: async (db) => {
    await seedEvents(db);
    await seedBulk(db, BULK);
  },
});

const range = `since=${RANGE.since}&until=${RANGE.until}`;

const eventPage = z.object({
  items: z.array(
    z.object({
      event_id: z.string(),
      occurred_at: z.string(),
      message_type: z.string(),
      columns: z.record(z.string(), z.unknown()),
    }),
  ),
  next_cursor: z.string().nullable(),
});

async function search(query: string) {
  return eventPage.parse(await admin.get(`/events?${query}`));
}

async function newestOfAnn() {
  const { items } = await search(`${range}&user=ann&type=AUDIT_LOG_ALL&limit=1`);
  return z.tuple([eventPage.shape.items.element]).parse(items)[0];
}

async function refusalOf(path: string) {
  const { status, text: body } = await ask(admin.url, { path: `/api/v1${path}` });
  return { status, body };
}

describe('events over the API', () => {
  it.each([
    ['user=ann&type=AUDIT_LOG_ALL', AUDIT_EVENTS / 2],
    ['type=AUTHENTICATION_LOG_ALL&type=LOCATION_AP_CENTRIC', 11],
    ['mac=AABB.CCDD.EEFF', 11],
    ['mac=aa-BB-cc-DD-ee-FF', 11],
    ['ap=00-11-22-33-44-66', 9],
    ['code=10001', AUDIT_EVENTS / 3],
    ['source=branch', 10],
    ['text=CHANGE%2077,', 1],
    ['org=1', 0],
    ['q=user:AN*%20-type:location%20code:10001', AUDIT_EVENTS / 6],
    ['q=ap:0011*%20-ssid:corp', 18],
  ])('are found by %s', async (query, count) => {
    expect((await search(`${range}&${query}&limit=1000`)).items).toHaveLength(count);
  });

  it.each(['newest', 'oldest'])('come %s first in pages that neither repeat nor leave out', async (order) => {
    const whole = await search(`${range}&limit=1000&order=${order}`);
    expect(whole.next_cursor).toBeNull();
    const ids: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const after: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page = await search(`${range}&limit=33&order=${order}${after}`);
      ids.push(...page.items.map((event) => event.event_id));
      cursor = page.next_cursor;
    }
    expect(ids).toEqual(whole.items.map((event) => event.event_id));
    const times = whole.items.map((event) => event.occurred_at);
    expect(order === 'newest' ? times.toReversed() : times).toEqual(times.toSorted());
  });

  it.each([
    ['mac=nonsense', 'mac'],
    ['code=1e3', 'code'],
    ['org=9223372036854775808', 'org'],
    ['since=yesterday', 'since'],
    ['since=99999d', 'since'],
    [`since=${RANGE.until}&until=${RANGE.since}`, 'until'],
    ['type=AUDIT', 'type'],
    ['q=usr:ann', 'q'],
    ['cursor=x', 'cursor'],
    ['user=a%00b', 'user'],
    ['user=a&user=b', 'user'],
  ])('are refused for %s, with the name of the parameter', async (query, name) => {
    const { status, body } = await refusalOf(`/events?${query}`);
    expect(status).toBe(400);
    expect(body).toContain(`query.${name}`);
  });

  it.each([
    ['/events?usr=x', 'query.usr', '"user"'],
    ['/events?colour=red', 'query.colour', 'since, until, type'],
    ['/events/histogram?bar=5', 'query.bar', '"bars"'],
    ['/events/export?formt=csv', 'query.formt', '"format"'],
    [`/exports/${'0'.repeat(32)}?x=1`, 'query.x', 'known are source'],
  ])(
    'are refused for a parameter that does not exist, with those that do: %s',
    async (address, name, hint) => {
      const { status, body } = await refusalOf(address);
      expect(status).toBe(400);
      const { error_message: message } = errorBody.parse(JSON.parse(body));
      expect(message).toContain(`${name}: unknown parameter`);
      expect(message).toContain(hint);
    },
  );

  it('ignores such a parameter on a page', async () => {
    expect(await admin.page('/events?usr=x')).toContain('Search');
  });

  it('are counted over time, all of them', async () => {
    const histogram = z
      .object({
        bucket_seconds: z.number(),
        is_complete: z.boolean(),
        bars: z.array(z.object({ start: z.string(), counts: z.record(z.string(), z.number()) })),
      })
      .parse(await admin.get(`/events/histogram?${range}&bars=24&type=AUDIT_LOG_ALL`));
    expect(histogram).toMatchObject({ bucket_seconds: 600, is_complete: true });
    const counts = histogram.bars.map((bar) => bar.counts['AUDIT_LOG_ALL'] ?? 0);
    expect(counts).toEqual([...Array.from({ length: 12 }, () => 10), ...Array.from({ length: 12 }, () => 0)]);
  });
});

describe('one event', () => {
  beforeAll(async () => {
    const event = await newestOfAnn();
    const insert = (name: string, state: 'running' | 'paused', position: string) =>
      admin.db.insertInto('destinations').values({ name, state, cursor_position: position }).execute();
    await insert('ahead', 'running', '9000000000');
    await insert('behind', 'paused', '0');
    await insert('choosy', 'running', '9000000000');
    await insert('picky', 'running', '9000000000');
    await admin.db
      .insertInto('rejected_events')
      .values({
        destination: 'picky',
        event_id: event.event_id,
        occurred_at: new Date(event.occurred_at),
        message_type: 'AUDIT_LOG_ALL',
        reason: 'too odd',
        replayed_at: null,
      })
      .execute();
  });

  it.each([true, false])('tells its delivery and its forwarding, its time given: %s', async (isTimeGiven) => {
    const event = await newestOfAnn();
    const at = isTimeGiven ? `?at=${event.occurred_at}` : '';
    expect(await admin.get(`/events/${event.event_id}${at}`)).toMatchObject({
      event: { event_id: event.event_id, columns: { user_name: 'ann' } },
      delivery: { record_count: AUDIT_EVENTS, event_count: AUDIT_EVENTS, secret_form: 'bearer' },
      forwarding: [
        { destination: 'ahead', outcome: 'sent' },
        { destination: 'behind', outcome: 'waiting', state: 'paused' },
        { destination: 'choosy', outcome: 'filtered' },
        { destination: 'picky', outcome: 'rejected', reason: 'too odd' },
      ],
      seal: { state: 'waiting', leaf: null },
    });
  });

  it('keeps every digit of its payload, in the API and on its page', async () => {
    const event = await newestOfAnn();
    const path = `/events/${event.event_id}?at=${event.occurred_at}`;
    expect(await admin.page(`/api/v1${path}`)).toContain(`"big":${LONG_NUMBER}`);
    const page = await admin.page(path);
    expect(page).toContain(LONG_NUMBER);
    expect(page).toContain('since=2026-01-20T09%3A57%3A00.000Z&amp;until=2026-01-20T09%3A59%3A00.000Z');
  });

  it('is not there under another time, or another id', async () => {
    const { event_id: id } = await newestOfAnn();
    expect((await refusalOf(`/events/${id}?at=2026-01-01`)).status).toBe(404);
    expect((await refusalOf(`/events/nothing`)).status).toBe(400);
  });
});

const lastExport = async () => {
  const [entry] = await listActions(admin.db, { limit: 1 });
  return entry;
};

const newId = (digit: string) => digit.repeat(32);

describe('an export', () => {
  it('holds what the search finds, and stands in the operator log with its conditions and rows', async () => {
    const { items } = await search(`${range}&user=ann&limit=1000`);
    const response = await fetch(`${admin.url}/api/v1/events/export?${range}&user=ann&format=ndjson`);
    expect(response.headers.get('content-disposition')).toMatch(
      /^attachment; filename="xiq-sink-events-.*\.ndjson"$/,
    );
    const file = await response.text();
    const lines = file.trimEnd().split('\n');
    const ids = lines.map((line) => z.object({ event_id: z.string() }).parse(JSON.parse(line)).event_id);
    expect(ids).toEqual(items.map((event) => event.event_id));
    expect(await waitFor(async () => (await lastExport())?.ended_at && lastExport())).toMatchObject({
      action: 'events.export',
      outcome: 'done',
      details: { format: 'ndjson', user: 'ann', since: RANGE.since, until: RANGE.until },
      result: { rows: items.length, sha256: hash('sha256', file) },
    });
  });

  it('is CSV with the columns of the type, when there is one', async () => {
    const csv = await admin.page(`/api/v1/events/export?${range}&type=LOCATION_AP_CENTRIC`);
    const [header, ...rows] = csv.trimEnd().split('\r\n');
    expect(header).toContain(',rssi,');
    expect(rows).toHaveLength(10);
  });

  it('waits for its reader, tells how far it is, and is given up when that is asked', async () => {
    const id = newId('a');
    const request = http.get(`${admin.url}/api/v1/events/export?source=bulk&export_id=${id}`);
    const [response] = z.tuple([z.instanceof(http.IncomingMessage)]).parse(await once(request, 'response'));
    const progress = () => admin.get(`/exports/${id}`);
    await waitFor(async () => z.object({ expected_rows: z.number() }).safeParse(await progress()).success);
    expect(await progress()).toMatchObject({ state: 'running', expected_rows: BULK });
    const ended = once(response, 'end').catch((error: unknown) => error);
    await admin.post(`/exports/${id}/cancel`, {});
    // It ends though nobody reads on.
    const failed = z.object({ rows: z.number(), state: z.literal('failed') });
    const { rows } = await waitFor(async () => failed.safeParse(await progress()).data);
    response.resume();
    expect(await ended).toMatchObject({ message: 'aborted' });
    expect(rows).toBeLessThan(BULK);
    const entry = await lastExport();
    expect(entry?.outcome).toBe('failed');
    expect(entry?.result?.['error']).toContain(`stopped after ${rows} rows`);
  });

  it('ends when its reader goes away', async () => {
    const before = (await lastExport())?.id;
    const gone = new AbortController();
    const response = await fetch(`${admin.url}/api/v1/events/export?source=bulk`, { signal: gone.signal });
    await response.body?.getReader().read();
    gone.abort();
    await waitFor(async () => {
      const entry = await lastExport();
      return entry?.id !== before && entry?.ended_at;
    });
    expect(await lastExport()).toMatchObject({ outcome: 'failed' });
  });

  it('is not known under another id', async () => {
    expect((await refusalOf(`/exports/${newId('0')}`)).status).toBe(404);
  });
});

it('facets count the events of a search by a field, the most frequent values first', async () => {
  const facetsOf = (query: string) => admin.get(`/events/facets?${range}&${query}`);
  const isComplete = { is_complete: true, since: RANGE.since };
  expect(await facetsOf('facet=user&q=-code:10000,10002')).toEqual({
    values: [
      { value: 'ann', count: 21 },
      { value: 'bob', count: 20 },
    ],
    ...isComplete,
  });
  const [first] = ACCESS_POINTS;
  expect(await facetsOf('facet=ap&limit=1')).toEqual({
    values: [{ value: first, count: 10, name: 'ap-lobby' }],
    ...isComplete,
  });
  expect(await facetsOf('facet=ssid&q=type:audit')).toEqual({ values: [], ...isComplete });
  expect(await facetsOf('facet=ssid&milliseconds=10000')).toMatchObject(isComplete);
  expect((await refusalOf(`/events/facets?${range}&milliseconds=10001`)).status).toBe(400);
});

describe('the page of events', () => {
  it('shows a page of rows that link to their events, and a way on', async () => {
    const page = await admin.page(`/events?${range}&type=AUDIT_LOG_ALL`);
    expect(page.match(/href="\/events\/[0-9a-f-]{36}\?at=/g)).toHaveLength(50);
    expect(page).toContain('Login');
    const next = /rel="next" href="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&') ?? '';
    const second = await admin.page(next);
    expect(second).toContain('change 69,');
    expect(second).not.toContain('change 70,');
  });

  it('says beside a condition what is wrong, and loses nothing of the search', async () => {
    const page = await admin.page(`/events?since=7d&mac=12345&user=%22ann%22&type=SMS_LOG_ALL`);
    expect(page).toMatch(/id="search-line"[^>]*value="mac:12345"/);
    for (const kept of ['type:SMS_LOG_ALL', String.raw`user:&quot;\&quot;ann\&quot;&quot;`])
      expect(page).toContain(`name="q" value="${kept}"`);
    expect(page).toMatch(/name="since"[^>]*value="7d"/);
    const other = await admin.page('/events?q=user:ann&q=usr:bob');
    expect(other).toContain('did you mean &quot;user');
    expect(other).toMatch(/id="search-line"[^>]*value="usr:bob"/);
    expect(other).toContain('name="q" value="user:ann"');
  });

  it('shows the events without a term that is wrong, and how it is probably meant', async () => {
    const right = await admin.page(`/events?${range}&q=user:bob`);
    const wrong = await admin.page(`/events?${range}&q=user:bob%20tipe:audit`);
    const listed = (page: string) =>
      [...page.matchAll(/href="(\/events\/[0-9a-f-]{36})/g)].map(([, one]) => one);
    expect(listed(wrong)).toEqual(listed(right));
    expect(listed(wrong).length).toBeGreaterThan(0);
    const repaired = /href="([^"]+)">Search type:audit instead/.exec(wrong)?.[1] ?? '';
    expect(listed(await admin.page(repaired.replaceAll('&amp;', '&'))).length).toBeGreaterThan(0);
  });

  it('names conditions only where there are some', async () => {
    const since = 'since=2020-01-01&until=2020-01-02';
    expect(await admin.page(`/events?${since}`)).not.toContain('remove conditions');
    expect(await admin.page(`/events?${since}&q=user:ann`)).toContain('remove conditions');
  });

  it('keeps a quick range relative, and links to exactly what it shows', async () => {
    const page = await admin.page('/events?user=ann');
    expect(page).toContain('href="/events?q=user%3Aann&amp;since=7d"');
    expect(page).toMatch(/href="\/events\?q=user%3Aann&amp;since=\d{4}-[^"]+&amp;until=\d{4}-[^"]+"/);
    expect(page).toContain('No events match');
  });

  it('tells of new events although one on the list is from the future, and lists those of 2090 for a range of then', async () => {
    const timeStamp = Date.now() + 0.9 * 86_400_000;
    const userName = 'tomorrow';
    await storeAudits(admin.db, { userName, timeStamp }, { userName, timeStamp: Date.UTC(2090, 0, 1) });
    const page = await admin.page('/events?user=tomorrow&since=1d');
    const found = (text: string) => new Set(text.match(/href="\/events\/[0-9a-f-]{36}/g)).size;
    expect(found(page)).toBe(1);
    expect(found(await admin.page('/events?user=tomorrow&since=2089-01-01'))).toBe(1);
    const asked = new URLSearchParams(
      /data-newer="[^?]*\?([^"]*)"/.exec(page)?.[1]?.replaceAll('&amp;', '&'),
    );
    expect(Date.parse(asked.get('since') ?? '')).toBeLessThanOrEqual(Date.now());
    expect(Date.parse(asked.get('until') ?? '')).toBeLessThan(Date.UTC(2090, 0, 1));
  });

  it('writes what events say as text, and no more of it than one reads', async () => {
    const hostile = '<img src=x onerror=alert(1)>';
    const description = `${hostile}${'long '.repeat(1_000)}`;
    const timeStamp = Date.UTC(2026, 0, 10);
    await storeAudits(admin.db, { userName: hostile, description, timeStamp });
    const page = await admin.page(
      `/events?since=2026-01-10&until=2026-01-11&user=${encodeURIComponent(hostile)}`,
    );
    expect(page).not.toContain('<img');
    expect(page.match(/&lt;img src=x/g)?.length).toBeGreaterThan(3);
    expect(page.length).toBeLessThan((await admin.page('/events')).length + 5_000);
  });
});
