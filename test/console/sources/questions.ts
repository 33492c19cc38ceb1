import { placeOf } from '../../../src/console/api/route.ts';
import type { Area } from '../../../src/console/area.ts';
import { BASE, cursorsOf, DESTINATION } from './two-sources.ts';
import type { Known } from './two-sources.ts';

/** One request: an address of a page or of the API, and the body of a change. */
export interface Question {
  readonly path: string;
  readonly body?: unknown;
}

/** What is asked at one route or page. */
export interface Questions {
  /** Of everything: the answer has something of each source that may be seen. */
  readonly all?: readonly string[];
  /** Of one source: the answer for a source that may be seen is another than for one that does not exist. */
  readonly one?: (known: Known) => readonly Question[];
  /** Also of one source, but a source that may be seen can have the same answer as one that does not exist. */
  readonly after?: (known: Known) => readonly Question[];
}

/** A question to each route and page that needs access to all sources, by route and by page. */
export const questionsOfWhole = (areas: readonly Area[]): ReadonlyMap<string, Question> =>
  new Map([
    ...areas.flatMap(({ routes }) =>
      routes
        .filter(({ data }) => data === 'whole')
        .map((route): [string, Question] => {
          const { method, path } = placeOf(route);
          const asked = { path: `/api/v1${path.replaceAll(/\{\w+\}/g, '404')}` };
          return [`${method} /api/v1${path}`, method === 'post' ? { ...asked, body: {} } : asked];
        }),
    ),
    ...areas.flatMap(({ pages }) =>
      pages
        .filter(({ data }) => data === 'whole')
        .map(({ path }): [string, Question] => [path, { path: path.replaceAll(/:\w+/g, '404') }]),
    ),
    ['/metrics', { path: '/metrics' }],
  ]);

const UNTIL = new Date(BASE + 1_800_000).toISOString();

const RANGE = `since=2000-01-01&until=${UNTIL}`;

const ARRIVALS = `/api/v1/arrivals?since=${new Date(BASE - 86_400_000).toISOString()}&until=${UNTIL}`;

const ACTIVITY = `/api/v1/activity?since=${new Date(BASE - 86_400_000).toISOString()}&until=${UNTIL}`;

const MONTH = new Date(BASE).toISOString().slice(0, 'YYYY-MM'.length);
const COVERED = `since=${new Date(BASE - 86_400_000).toISOString()}&until=${UNTIL}`;

const filters = (path: string, { source, user, mac, ap, mark }: Known): readonly Question[] =>
  [
    `source=${source}`,
    `user=${user}`,
    `mac=${mac}`,
    `ap=${ap}`,
    `text=${mark}`,
    `type=SMS_LOG_ALL&text=${mark}`,
  ].map((filter) => ({ path: `${path}?${RANGE}&${filter}` }));

const change = (path: string, body: unknown = {}): Question => ({ path, body });

/** Items that match, and those after an item of the source. */
const chosen = (path: string, known: Known): readonly Question[] => [
  change(path, { matching: { source: known.source, reason: known.mark } }),
  change(path, { matching: {}, cursor: cursorsOf(known).open }),
];

/** A question of an assistant. */
const call = (name: string, args: object): Question =>
  change('/api/v1/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } });

const destination = `/api/v1/destinations/${DESTINATION}`;

/** Of everything, and of one source. */
const ofSource = (path: string): Questions => ({
  all: [path],
  one: ({ source }) => [{ path: `${path}${path.includes('?') ? '&' : '?'}source=${source}` }],
});

const deliveriesAt = (path: string): Questions => ({
  ...ofSource(`${path}?limit=500`),
  after: (known) => [{ path: `${path}?cursor=${cursorsOf(known).deliveries}` }],
});

const deliveryAt = (path: string): Questions => ({
  one: ({ deliveryId, replayId }) => [deliveryId, replayId].map((id) => ({ path: `${path}/${id}` })),
});

const eventAt = (path: string): Questions => ({
  one: ({ eventId, at }) => [{ path: `${path}/${eventId}` }, { path: `${path}/${eventId}?at=${at}` }],
});

const quarantineAt = (path: string): Questions => ({
  all: [`${path}?state=all`],
  one: ({ source, mark }) => [
    { path: `${path}?state=all&source=${source}` },
    { path: `${path}?state=all&reason=${mark}` },
  ],
  after: (known) => [{ path: `${path}?state=all&cursor=${cursorsOf(known).quarantine}` }],
});

const quarantinedAt = (path: string): Questions => ({
  one: ({ openId, discardedId, replayedId }) =>
    [openId, discardedId, replayedId].map((id) => ({ path: `${path}/${id}` })),
});

/** By route of the OpenAPI document, and by page. A route or page that is neither here nor needs all sources fails the test. */
export const QUESTIONS: Readonly<Record<string, Questions>> = {
  'get /api/v1/overview': { all: ['/api/v1/overview'] },
  'get /api/v1/arrivals': {
    one: ({ source }) => [{ path: `${ARRIVALS}&source=${source}` }],
  },
  'get /api/v1/activity': ofSource(ACTIVITY),
  'get /api/v1/silences': { all: ['/api/v1/silences'] },
  'get /api/v1/conservation': { all: ['/api/v1/conservation', `/api/v1/conservation?${RANGE}`] },
  'get /api/v1/events': {
    all: [`/api/v1/events?${RANGE}&limit=1000`],
    one: (known) => filters('/api/v1/events', known),
    after: (known) => [{ path: `/api/v1/events?${RANGE}&cursor=${cursorsOf(known).events}` }],
  },
  'get /api/v1/events/facets': { one: (known) => filters('/api/v1/events/facets', known) },
  'get /api/v1/events/histogram': { one: (known) => filters('/api/v1/events/histogram', known) },
  'get /api/v1/events/export': {
    all: [`/api/v1/events/export?${RANGE}&format=csv`, `/api/v1/events/export?${RANGE}&format=ndjson`],
    one: (known) => filters('/api/v1/events/export', known),
  },
  // In saved-searches.test.ts: they are of their savers, and of no source.
  'get /api/v1/saved-searches': {},
  'post /api/v1/saved-searches': {},
  'post /api/v1/saved-searches/alert': {},
  'post /api/v1/saved-searches/{id}/delete': {},
  'post /api/v1/saved-searches/{id}/alerts': {},
  'get /api/v1/alerts': ofSource('/api/v1/alerts'),
  'get /api/v1/alert-rules': {},
  'get /api/v1/exports/{export_id}': { one: ({ exportId }) => [{ path: `/api/v1/exports/${exportId}` }] },
  'post /api/v1/exports/{export_id}/cancel': {
    // An export that has ended is unknown, too.
    after: ({ exportId }) => [change(`/api/v1/exports/${exportId}/cancel`)],
  },
  // Followed in a test of its own.
  'get /api/v1/events/stream': {},
  'get /api/v1/events/{event_id}': eventAt('/api/v1/events'),
  'get /api/v1/people': {
    one: ({ user }) => [
      { path: `/api/v1/people?q=${user}` },
      { path: `/api/v1/people?q=${user}&order=name` },
    ],
  },
  'get /api/v1/devices': { one: ({ mac, ap }) => [mac, ap].map((q) => ({ path: `/api/v1/devices?q=${q}` })) },
  'get /api/v1/users/{name}': { one: ({ user }) => [{ path: `/api/v1/users/${user}?${RANGE}` }] },
  'get /api/v1/clients/{mac}': { one: ({ mac }) => [{ path: `/api/v1/clients/${mac}?${RANGE}` }] },
  'get /api/v1/clients/{mac}/positions': {
    one: ({ mac }) => [{ path: `/api/v1/clients/${mac}/positions?${RANGE}` }],
  },
  'get /api/v1/deliveries': deliveriesAt('/api/v1/deliveries'),
  'get /api/v1/deliveries/{delivery_id}': deliveryAt('/api/v1/deliveries'),
  'get /api/v1/coverage': ofSource(`/api/v1/coverage?${COVERED}`),
  'get /api/v1/coverage/quarters': ofSource(`/api/v1/coverage/quarters?${COVERED}`),
  'post /api/v1/mcp': {
    one: ({ source, user, mac, eventId, at }) => [
      call('search_events', { source }),
      call('get_timeline', { kind: 'user', name: user, since: at, until: UNTIL }),
      call('get_timeline', { kind: 'client', name: mac, since: at, until: UNTIL }),
      call('prove_event', { event_id: eventId, at }),
    ],
    after: ({ source }) => [call('get_coverage', { source })],
  },
  'get /api/v1/quarantine': quarantineAt('/api/v1/quarantine'),
  'get /api/v1/quarantine/{quarantine_id}': quarantinedAt('/api/v1/quarantine'),
  'get /api/v1/quarantine/{quarantine_id}/content': {
    one: ({ openId, discardedId }) =>
      [openId, discardedId].map((id) => ({ path: `/api/v1/quarantine/${id}/content` })),
  },
  'post /api/v1/quarantine/discard': {
    one: ({ openId }) => [change('/api/v1/quarantine/discard', { ids: [openId] })],
    after: (known) => chosen('/api/v1/quarantine/discard', known),
  },
  'post /api/v1/quarantine/replay': {
    one: ({ openId }) => [change('/api/v1/quarantine/replay', { ids: [openId] })],
    after: (known) => chosen('/api/v1/quarantine/replay', known),
  },
  // Both sources have one rejected event: the number is of one.
  'get /api/v1/destinations': { all: [] },
  'get /api/v1/destinations/{name}/rejected': {
    all: [`${destination}/rejected`],
    after: (known) => [{ path: `${destination}/rejected?cursor=${cursorsOf(known).rejected}` }],
  },
  'get /api/v1/subscriptions': { all: ['/api/v1/subscriptions'] },
  'get /api/v1/subscriptions/{source}': {
    one: ({ source }) => [{ path: `/api/v1/subscriptions/${source}` }],
  },
  'post /api/v1/subscriptions/{source}/ask-again': {
    one: ({ source }) => [change(`/api/v1/subscriptions/${source}/ask-again`)],
  },
  'post /api/v1/subscriptions/{source}/apply': {
    one: ({ source }) => [change(`/api/v1/subscriptions/${source}/apply`)],
  },
  ...Object.fromEntries(
    ['administration', 'logins', 'categories', 'changes', 'keys'].flatMap((name) =>
      [name, `${name}/csv`].map((route) => [
        `get /api/v1/reports/${route}`,
        { after: () => [{ path: `/api/v1/reports/${route}?month=${MONTH}` }] },
      ]),
    ),
  ),
  'get /api/v1/reports/access': {
    one: ({ user }) => [{ path: `/api/v1/reports/access?month=${MONTH}&user=${user}` }],
  },
  'get /api/v1/reports/access/csv': {
    one: ({ user }) => [{ path: `/api/v1/reports/access/csv?month=${MONTH}&user=${user}` }],
  },
  'get /api/v1/sources': { all: ['/api/v1/sources'] },

  '/': ofSource(`/?${RANGE}`),
  '/events': {
    all: [`/events?${RANGE}`],
    one: (known) => filters('/events', known),
    after: (known) => [{ path: `/events?${RANGE}&cursor=${cursorsOf(known).events}` }],
  },
  '/events/:event_id': eventAt('/events'),
  '/people': { one: ({ user }) => [{ path: `/people?q=${user}` }] },
  '/devices': { one: ({ mac, ap }) => [mac, ap].map((q) => ({ path: `/devices?q=${q}` })) },
  '/devices/access-point': { one: ({ ap }) => [{ path: `/devices/access-point?mac=${ap}` }] },
  '/people/user': { one: ({ user }) => [{ path: `/people/user?name=${user}&${RANGE}` }] },
  '/devices/client': { one: ({ mac }) => [{ path: `/devices/client?mac=${mac}&${RANGE}` }] },
  '/deliveries': deliveriesAt('/deliveries'),
  '/deliveries/:delivery_id': deliveryAt('/deliveries'),
  // A page of a month changes while the test runs.
  '/coverage': { after: ({ source }) => [{ path: '/coverage' }, { path: `/coverage?source=${source}` }] },
  // It says when it was made: no two answers are the same (test/commands/certificate.test.ts).
  '/certificate': {},
  '/reports': {
    all: [`/reports?month=${MONTH}`],
    after: () => [{ path: `/reports?name=logins&month=${MONTH}` }],
  },
  '/sources/:name': { one: ({ source }) => [{ path: `/sources/${source}` }] },
  '/alerts': ofSource('/alerts'),
  '/quarantine': quarantineAt('/quarantine'),
  '/quarantine/:quarantine_id': quarantinedAt('/quarantine'),
  '/destinations': { all: [] },
  '/destinations/:name': {
    all: [`/destinations/${DESTINATION}`],
    after: (known) => [{ path: `/destinations/${DESTINATION}?cursor=${cursorsOf(known).rejected}` }],
  },
  '/subscriptions': { all: ['/subscriptions'] },
  '/sources': { all: ['/sources'] },
};

/** Addresses whose answers have nothing of a source but its numbers. */
export const NUMBERS: readonly string[] = [
  '/api/v1/destinations',
  '/destinations',
  ARRIVALS,
  `/api/v1/events/facets?${RANGE}`,
  `/api/v1/events/histogram?${RANGE}`,
];
