import { beforeAll, expect, test } from 'vitest';
import { destinationFilterSchema } from '../../src/forward/destination-filter.ts';
import { searchEvents } from '../../src/store/events/search-events.ts';
import { addDestination } from '../../src/store/destinations/destinations.ts';
import { changeDestinationState } from '../../src/store/destinations/change-destination.ts';
import { ALL_SOURCES } from '../../src/store/server/scope.ts';
import { addWithToken } from '../support/accounts.ts';
import { fileDestination, storeAudits } from '../support/actions.ts';
import { useConsole } from '../support/use-console.ts';
import { useDirectory } from '../support/use-directory.ts';
import { outputsForTests } from '../support/outputs.ts';
import { overviewForTests } from './overview/overview-for-tests.ts';
import { eventsForTests } from '../support/events-area.ts';

const directory = useDirectory();
const filter = destinationFilterSchema.parse({ sources: ['birch'] });
const configured = [
  fileDestination('everything', directory),
  { ...fileDestination('birch-siem', directory), filter },
];
const silence = {
  source: 'default',
  messageType: 'SMS_LOG_ALL' as const,
  lastReceivedAt: new Date('2026-01-01T00:00:00Z'),
  state: 'unusual' as const,
  sentence: 'nothing for 3 h',
};

const areasOf = ({ destinations, alerts }: ReturnType<typeof outputsForTests>) => [destinations, alerts];

const admin = useConsole(
  (db) => [
    overviewForTests(db, { silences: async () => [silence], destinations: () => configured }),
    ...areasOf(outputsForTests(db, configured)),
    eventsForTests(db, 'birch-siem'),
  ],
  { token: 'the-admin-token-of-this-test-file' },
);

const tokens = new Map<string, string>();
beforeAll(async () => {
  await storeAudits(admin.db, {});
  for (const { name } of configured) await addDestination(admin.db, name, 0);
  const names = configured.map(({ name }) => name);
  const operator = { name: 'ada', via: 'console' } as const;
  const change = { db: admin.db, operator, configured: names, name: 'birch-siem' };
  await changeDestinationState(change, 'paused');
  const auditor = { name: 'some', role: 'auditor', sources: ['default'] } as const;
  tokens.set('some', await addWithToken(admin.db, auditor));
  tokens.set('all', await addWithToken(admin.db, { name: 'all', role: 'admin' }));
});

const pageOf = async (reader: string, path: string) => (await admin.ask(tokens.get(reader), path)).text;

test('destinations of other sources are not named to a reader of some sources', async () => {
  const { events } = await searchEvents(admin.db, ALL_SOURCES, { terms: [] }, { limit: 1 });
  const event = `/events/${events[0]?.eventId}`;
  for (const path of ['/', '/destinations', event]) {
    expect(await pageOf('all', path)).toContain('birch-siem');
    expect(await pageOf('some', path)).not.toContain('birch-siem');
  }
  expect(await pageOf('some', '/destinations')).toContain('everything');
  expect(await pageOf('some', '/destinations/birch-siem')).toContain('there is no destination');
});

test('alert rules of other sources are not named to a reader of some sources', async () => {
  for (const source of ['default', 'birch'])
    await admin.ask(tokens.get('all'), '/api/v1/alert-rules', {
      name: `of-${source}`,
      search: `source:${source}`,
    });
  for (const path of ['/alerts', '/api/v1/alert-rules']) {
    expect(await pageOf('all', path)).toContain('of-birch');
    expect(await pageOf('some', path)).not.toContain('of-birch');
    expect(await pageOf('some', path)).toContain('of-default');
  }
});

test('advice is for those who may follow it', async () => {
  const advice = 'Check the subscription in the cloud.';
  expect(await pageOf('all', '/')).toContain(advice);
  const page = await pageOf('some', '/');
  expect(page).toContain('unusually quiet');
  expect(page).not.toContain(advice);
});
