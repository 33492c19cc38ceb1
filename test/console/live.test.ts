import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonRoute } from '../../src/console/api/route.ts';
import { localText } from '../../src/console/browser/shared/local-time.ts';
import { createEventHub } from '../../src/console/live/event-hub.ts';
import { liveArea } from '../../src/console/live/live-area.ts';
import { startActions, storeAudits } from '../support/actions.ts';
import { startAdmin, type RunningAdmin } from '../support/admin.ts';
import { untilSeen } from '../support/until-seen.ts';
import { waitFor } from '../support/wait-for.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase({ logs: true });

let admin: RunningAdmin;
let leaving: AbortController;
beforeEach(async () => {
  admin = await startActions(test.db, { maxWatchers: 3 });
  leaving = new AbortController();
});
afterEach(async () => {
  leaving.abort();
  await admin.close();
});

const audits = (...descriptions: string[]) =>
  storeAudits(test.db, ...descriptions.map((description) => ({ description })));

interface Stream {
  readonly response: Response;
  readonly text: () => string;
  readonly summaries: () => string[];
  readonly lastId: () => string;
  readonly hasEnded: () => boolean;
}

const stored = z.object({ summary: z.string() });

/** Reads a stream until the test ends or leaves. */
async function watch(
  query = '',
  headers: Record<string, string> = {},
  signal = leaving.signal,
): Promise<Stream> {
  const response = await fetch(`${admin.url}/api/v1/events/stream${query}`, { headers, signal });
  let text = '';
  let hasEnded = false;
  void (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) text += decoder.decode(chunk, { stream: true });
    hasEnded = true;
  })().catch(() => undefined);
  if (response.ok) await waitFor(() => text.includes('event: listening'));
  return {
    response,
    text: () => text,
    summaries: () =>
      [...text.matchAll(/event: stored\ndata: (.*)\n/g)].map(
        ([, data]) => stored.parse(JSON.parse(data ?? '')).summary,
      ),
    lastId: () => [...text.matchAll(/id: (.*)\n/g)].at(-1)?.[1] ?? '',
    hasEnded: () => hasEnded,
  };
}

describe('the stream of events', () => {
  it('tells since when it listens, and sends what is stored from then on, once and in order', async () => {
    await audits('before');
    await untilSeen(test.db);
    const stream = await watch();
    expect(stream.response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const many = Array.from({ length: 12 }, (_, n) => `number ${n}`);
    for (const one of many) await audits(one);
    await audits('last');
    await waitFor(() => stream.summaries().includes('last'));
    expect(stream.summaries()).toEqual([...many, 'last']);
  });

  it('goes on behind the id of an earlier stream, so that nothing is skipped or sent twice', async () => {
    const first = await watch();
    await audits('one');
    await waitFor(() => first.summaries().length === 1);
    // Read now: the first stream goes on, and would soon name a later event.
    const place = first.lastId();
    await audits('two');
    await audits('three');
    const byHeader = await watch('', { 'Last-Event-ID': place });
    await waitFor(() => byHeader.summaries().length >= 2);
    await audits('four');
    await waitFor(() => byHeader.summaries().includes('four'));
    expect(byHeader.summaries().filter((one) => one !== 'one')).toEqual(['two', 'three', 'four']);
    const byQuery = await watch(`?after=${byHeader.lastId()}`);
    await audits('five');
    await waitFor(() => byQuery.summaries().length > 0);
    expect(byQuery.summaries()).toEqual(['five']);
  });

  it('loses nothing for who comes while others watch other types', async () => {
    const sms = await watch('?type=SMS_LOG_ALL');
    const storing = (async () => {
      for (let n = 0; n < 15; n += 1) await audits(`beside ${n}`);
    })();
    const all = await watch('?type=AUDIT_LOG_ALL&text=beside');
    const seen = () => all.summaries();
    await storing;
    await waitFor(() => seen().includes('beside 14'));
    const first = Number(seen()[0]?.slice('beside '.length));
    expect(seen()).toEqual(Array.from({ length: 15 - first }, (_, n) => `beside ${first + n}`));
    expect(sms.summaries()).toEqual([]);
  });

  it('refuses more readers than it can bear, with a sentence, and takes the next when one has left', async () => {
    const early = new AbortController();
    await watch('', {}, early.signal);
    await Promise.all([watch(), watch()]);
    const { response, text } = await watch();
    expect(response.status).toBe(503);
    await waitFor(() => text().includes('the limit of 3 live views'));
    early.abort();
    await waitFor(async () => (await watch()).response.ok);
  });

  it('ends when the program does', async () => {
    const stream = await watch();
    await admin.close();
    expect(await waitFor(stream.hasEnded)).toBe(true);
    admin = await startActions(test.db);
  });

  it('is not taken for an event whose id is "stream", whichever area comes first', async () => {
    const one = jsonRoute({
      route: 'GET /events/{event_id}',
      data: 'by source',
      summary: 'one event',
      needs: 'view',
      answer: z.object({}),
      work: async () => ({}),
    });
    await admin.close();
    const hub = createEventHub(test.db);
    const areas = [{ tag: 'events', pages: [], routes: [one] }, liveArea({ db: test.db, hub })];
    admin = await startAdmin(areas, test.db);
    expect((await watch()).response.headers.get('content-type')).toMatch(/^text\/event-stream/);
  });

  it('has the row of the list that it is for, with the columns and the time zone of the reader', async () => {
    const list = encodeURIComponent('/events?since=7d&q=type:audit');
    const stream = await watch(`?list=${list}`, {
      Cookie: 'xiq_time_zone=Asia/Tokyo; xiq_event_columns=user.details',
    });
    await storeAudits(test.db, { description: '<i>drawn</i>', code: 1 });
    await waitFor(() => stream.summaries().length === 1);
    const [, data = ''] = /event: stored\ndata: (.*)\n/.exec(stream.text()) ?? [];
    const { row, occurred_at: time } = z
      .object({ row: z.string(), occurred_at: z.string() })
      .parse(JSON.parse(data));
    const [day, clock] = localText(time, 'Asia/Tokyo').split(' ');
    expect(row).toContain(`data-day="${day}"`);
    expect(row).toContain(`>${clock}</time>`);
    expect(row).toContain('&lt;i>drawn&lt;/i>');
    expect(row).toContain('href="/events?since=7d&amp;q=type%3Aaudit+user%3A');
    expect(row.match(/<td/g)).toHaveLength(3);
  });

  it.each(['?type=AUDIT', '?mac=1', '?after=1-1', '?q=user:', '?list=https://elsewhere.example/'])(
    'refuses what it cannot read: %s',
    async (query) => {
      expect((await watch(query)).response.status).toBe(400);
    },
  );
});
