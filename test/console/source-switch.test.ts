import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { coverageArea } from '../../src/console/coverage/coverage-area.ts';
import { deliveriesArea } from '../../src/console/deliveries/deliveries-area.ts';
import { operatorLogArea } from '../../src/console/operator-log/operator-log-area.ts';
import { peopleArea } from '../../src/console/people/people-area.ts';
import { addWithToken } from '../support/accounts.ts';
import { lastAction, storeDeliveries } from '../support/actions.ts';
import { countAll } from '../support/arrivals.ts';
import { auditRecord, queuedDelivery } from '../support/deliveries.ts';
import { eventsForTests } from '../support/events-area.ts';
import { outputsForTests } from '../support/outputs.ts';
import { contentOf, linksIn, textIn } from '../support/read-page.ts';
import { useConsole } from '../support/use-console.ts';
import { overviewForTests } from './overview/overview-for-tests.ts';
import { countPeople } from './seeded-people.ts';

const SOURCES = ['oak', 'elm', 'ash & co'];

const admin = useConsole(
  (db) => [
    overviewForTests(db),
    eventsForTests(db),
    peopleArea({ db }),
    deliveriesArea({ db }),
    coverageArea({ db }),
    outputsForTests(db).alerts,
    operatorLogArea({ db }),
  ],
  {
    token: 'the-admin-token-of-this-test-file',
    seed: async (db) => {
      for (const source of SOURCES) {
        const record = auditRecord({ userName: `user of ${source}`, timeStamp: Date.now() - 60_000 });
        await storeDeliveries(db, queuedDelivery('AUDIT_LOG_ALL', [record], { source }));
      }
      await countAll(db);
      await countPeople(db);
    },
  },
);

let ofOne: string;
beforeAll(async () => {
  ofOne = await addWithToken(admin.db, { name: 'one', role: 'auditor', sources: ['oak'] });
});

const PAGES = ['/', '/events', '/people', '/devices', '/deliveries', '/coverage', '/alerts'];

const switchIn = (page: string) => /<a\b[^>]*source-switch[^>]*>([^<]*)<\/a>/.exec(page);

it.each(PAGES)('%s shows one source alone, and its links and forms keep the source', async (path) => {
  const all = await admin.page(path);
  expect(switchIn(all)?.[1]).toBe('All sources');
  const page = await admin.page(`${path}?source=oak`);
  const [shown = '', name] = switchIn(page) ?? [];
  expect(name).toBe('oak');
  const rest = page.replace(shown, '');
  expect(rest).not.toContain('elm');
  const links = Array.from(rest.matchAll(/ href="(\/(?!api|assets)[^"]*)"/g), ([, link = '']) => link);
  expect(links.length).toBeGreaterThan(5);
  expect(links.filter((link) => !/[?;]source=oak/.test(link))).toEqual([]);
  for (const [form, next] of page.matchAll(/<form [^>]*>(<input[^>]*>)?/g)) {
    // A change sends its fields to the API, where a source may be the one that an account is limited to.
    const isKept = next === '<input type="hidden" name="source" value="oak"/>';
    expect({ form, isKept }).toEqual({ form, isKept: form.includes(' action=') });
  }
});

it('leads back to all sources without scripts, and to the list from a page about one thing', async () => {
  const page = await admin.page('/deliveries?type=SMS_LOG_ALL&source=oak&limit=20');
  expect(linksIn(page)['oak']).toBe('/deliveries?type=SMS_LOG_ALL&limit=20&source=');
  const list = await admin.page('/deliveries?source=ash+%26+co');
  const delivery = Object.values(linksIn(list)).find((link) => /\/deliveries\/.+source=/.test(link)) ?? '';
  expect(delivery).toContain('source=ash+%26+co');
  const one = await admin.page(delivery);
  expect(textIn(contentOf(one))).toContain('ash & co');
  expect(linksIn(one)['ash & co']).toBe('/deliveries?source=');
});

it('is not on the pages of those who may see one source, and shows them nothing of another', async () => {
  const { text: own } = await admin.ask(ofOne, '/people?source=oak');
  expect(switchIn(own)).toBeNull();
  expect(own).toContain('user of oak');
  for (const path of PAGES) {
    const { text } = await admin.ask(ofOne, `${path}?source=elm`);
    expect(text).not.toContain('user of');
    // So that there is a way back.
    expect(switchIn(text)?.[0]).toContain('data-sources="[&quot;oak&quot;]"');
  }
  const { text } = await admin.ask(ofOne, '/api/v1/people?source=elm');
  expect(JSON.parse(text)).toMatchObject({ items: [] });
});

it('does not concern what is about all sources, and is kept by its links', async () => {
  const page = await admin.page('/operator-log?source=elm');
  expect(switchIn(page)).toBeNull();
  expect(page).toContain('All sources</span>');
  expect(page).toContain('href="/events?source=elm"');
  expect(page).toContain('one');
  const refused = await admin.ask('the-admin-token-of-this-test-file', '/api/v1/operator-log?source=elm');
  expect(refused.status).toBe(400);
});

it.each([
  ['q=source:oak', '?source=oak'],
  ['q=user:user* source:"ash %26 co"&source=elm', '?q=user%3Auser*&source=ash+%26+co'],
  ['q=source:oak,elm&source=elm', '?q=source%3Aoak%2Celm'],
  ['q=-source:oak&source=elm', undefined],
])('takes the source that a search line names: %s', async (query, moved) => {
  const response = await fetch(`${admin.url}/events?${query}`, {
    headers: { Authorization: 'Bearer the-admin-token-of-this-test-file', Accept: 'text/html' },
    redirect: 'manual',
  });
  const location = response.headers.get('location');
  expect(location && new URLSearchParams(new URL(location, admin.url).search).toString()).toBe(
    moved === undefined ? null : new URLSearchParams(moved).toString(),
  );
});

it('limits an export, which the operator log records', async () => {
  const token = 'the-admin-token-of-this-test-file';
  const { text } = await admin.ask(token, '/api/v1/events/export?format=ndjson&source=oak');
  expect(text.trimEnd().split('\n')).toEqual([expect.stringContaining('user of oak')]);
  expect(await lastAction(admin.db)).toMatchObject({ action: 'events.export', details: { source: 'oak' } });
});

it('is part of what is saved, copied and counted of a search', async () => {
  const page = await admin.page('/events?source=oak&q=type:audit');
  expect(page).toContain('value="type:audit source:oak"');
  expect(page).toContain("-- 'type:audit source:oak'");
  expect(page).toMatch(/data-facets="\/events\/facets\?[^"]*source=oak"/);
  expect(page).toMatch(/data-histogram="\/events\/histogram\?[^"]*source=oak"/);
  const facet = z.object({ values: z.array(z.object({ value: z.string() })) });
  const { values } = facet.parse(await admin.get('/events/facets?facet=user&source=oak'));
  expect(values).toEqual([expect.objectContaining({ value: 'user of oak' })]);
});
