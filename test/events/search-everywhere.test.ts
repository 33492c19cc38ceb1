import { afterAll, beforeAll, expect, it } from 'vitest';
import * as fc from 'fast-check';
import { z } from 'zod';
import { destinationFilterSchema, createFilter } from '../../src/forward/destination-filter.ts';
import { alertRuleSchema } from '../../src/alerts/alert-rule.ts';
import { backtestRule } from '../../src/alerts/backtest-rule.ts';
import { createMatch } from '../../src/alerts/match-rule.ts';
import { createSearchMatch } from '../../src/events/match-search.ts';
import { exactTerms, parseSearch } from '../../src/events/search-query.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { findEvents } from '../support/find-events.ts';
import { isRuleAlert, type StoredEvent } from '../../src/events/stored-event.ts';
import { endOfCommand } from '../support/command.ts';
import { startAdmin, type RunningAdmin } from '../support/admin.ts';
import { useDatabase } from '../support/use-database.ts';
import { POOL, STORED } from '../store/events/varied-events.ts';
import { runs } from '../support/runs.ts';
import { eventsForTests } from '../support/events-area.ts';

/** One of each key and form. */
const LINES = [
  'user:ANN',
  'user:b*',
  'user:"=CMD|calc",ann',
  'code:10001,-7',
  '-code:10001',
  'type:audit,alerts',
  '-type:location',
  'type:LOCATION_AP_CENTRIC',
  'ap:aa:bb:cc:dd:*',
  'client:00:11*',
  'AABB.CCDD.EEFF',
  'mac:aa:bb:cc:dd:ee:0*',
  'ssid:QUICK',
  'ssid:b*',
  'device:AP-*',
  'org:5',
  'source:branch',
  'origin:webhook user:Bob',
  'action:log*',
  'action:"Configuration changed",client-seen',
  '-action:client-seen',
  'outcome:success',
  '-outcome:Failure',
  'quick',
  'text:brown_,"50%"',
  'Grüße',
  '-ZÜRICH',
  '"\\\\\\""',
  '"\\"orgId\\": 5"',
  'user:ann -quick code:10001,10002',
];

const test = useDatabase({ isVaried: true });
let admin: RunningAdmin;
let all: readonly StoredEvent[];
beforeAll(async () => {
  all = await findEvents(test.db, ALL_SOURCES, {}, { limit: STORED });
  admin = await startAdmin([eventsForTests(test.db)], test.db);
});
afterAll(async () => {
  await admin.close();
});

const termsOf = (line: string) => parseSearch(line).terms ?? [];

const idsOf = (events: readonly { readonly eventId: string }[]) => events.map(({ eventId }) => eventId);

const found = async (line: string) =>
  idsOf(await findEvents(test.db, ALL_SOURCES, { terms: termsOf(line) }, { limit: STORED }));

const queryOf = (line: string) => new URLSearchParams({ q: line, since: '2000-01-01T00:00:00Z' });

async function byApi(line: string): Promise<readonly string[]> {
  const answer = await admin.get(`/events?${queryOf(line)}&limit=1000`);
  const { items } = z.object({ items: z.array(z.object({ event_id: z.string() })) }).parse(answer);
  return items.map((item) => item.event_id);
}

/** The events on the first page of the list in the console. */
async function byConsole(line: string): Promise<readonly string[]> {
  const page = await admin.page(`/events?${queryOf(line)}`);
  const table = page.slice(page.indexOf('<tbody'), page.indexOf('</tbody'));
  const links = [...table.matchAll(/href="\/events\/([0-9a-f-]{36})/g)].map(([, id = '']) => id);
  return [...new Set(links)];
}

async function byCommand(line: string): Promise<readonly string[]> {
  const env = { DATABASE_URL: test.databaseUrl };
  const words = ['events', 'search', '--json', '--limit', String(STORED), '--', line];
  const { stdout } = await endOfCommand(env, ...words);
  const printed = z.object({ event_id: z.string() });
  return stdout
    .trim()
    .split('\n')
    .map((json) => printed.parse(JSON.parse(json)).event_id);
}

const ruleOf = (line: string) =>
  alertRuleSchema.parse({ name: 'search', title: 'Search', filter: { search: line } });

/** The events for which the rule would have raised alerts. */
async function byTestOfRule(line: string): Promise<readonly string[]> {
  const range = { since: new Date(0), until: new Date('2100-01-01') };
  const alerts = await Array.fromAsync(
    backtestRule(test.db, ALL_SOURCES, ruleOf(line), range, new AbortController().signal),
  );
  return alerts.flatMap(({ causes }) => causes.map(({ eventId }) => eventId));
}

/** Lines that an address, a command line or a settings file may change on their way, and one that finds many events. */
const WRITTEN = ['-user:"=CMD|calc",ann', '-ZÜRICH text:brown_,"50%"', '"\\"orgId\\": 5"'];

it.each(WRITTEN)('the line %s selects the same everywhere', async (line) => {
  const ids = await found(line);
  expect(ids.length).toBeGreaterThan(0);
  expect(ids.length).toBeLessThan(STORED);
  expect(await byApi(line)).toEqual(ids);
  expect(await byCommand(line)).toEqual(ids);
  expect(await byConsole(line)).toEqual(ids.slice(0, 50));
  const isRaised = createMatch(ruleOf(line));
  expect(idsOf(all.filter(isRaised))).toEqual(ids);
  expect((await byTestOfRule(line)).toSorted()).toEqual(ids.toSorted());
  const isSent = createFilter(destinationFilterSchema.parse({ search: line }));
  expect(idsOf(all.filter(isSent))).toEqual(ids);
});

/** Filters as settings write them, beside search lines. Each finds some events, and not all. */
const SETTINGS = [
  { users: ['an*', '*alc'] },
  { families: ['audit', 'log'], codes: ['10001', -7] },
  { message_types: ['LOCATION_AP_CENTRIC', 'SMS_LOG_ALL'] },
  { sources: ['branch'], orgs: [5] },
  { kinds: ['login', 'accountingStart'] },
  { outcome: 'unknown' },
  { kinds: ['authentication', 'audit'], outcome: 'success' },
  { where: { description: ['*quick*', '*50%*', '\\'] } },
  { where: { client_mac: '00:11*', message_type: '*log*' } },
  { where: { host_names: '*sn-5*' } },
] as const;

it('the matcher and the SQL find the same, whatever terms are combined', async () => {
  expect(all.some(isRuleAlert)).toBe(false);
  const ofSettings = SETTINGS.map(
    (filter) => alertRuleSchema.parse({ name: 'settings', title: 'Settings', filter }).filter[0] ?? [],
  );
  const ofLines = LINES.map(termsOf);
  const ofFields = [exactTerms({ device: 'ap-1' }), exactTerms({ device: '17', mac: POOL.macs[1] })];
  const terms = fc.subarray([...ofLines, ...ofSettings, ...ofFields], { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(
      terms.map((some) => some.flat()),
      async (some) => {
        const found = await findEvents(test.db, ALL_SOURCES, { terms: some }, { limit: STORED });
        expect(idsOf(all.filter(createSearchMatch(some)))).toEqual(idsOf(found));
      },
    ),
    { numRuns: runs(60) + LINES.length, examples: [...ofLines, ...ofSettings].map((some) => [some]) },
  );
});

it.each([...SETTINGS, ...LINES.map((search) => ({ search }))])('%j finds some events, not all', (filter) => {
  const found = all.filter(
    createMatch(alertRuleSchema.parse({ name: 'settings', title: 'Settings', filter })),
  );
  expect(found.length).toBeGreaterThan(0);
  expect(found.length).toBeLessThan(STORED);
});
