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
  /** Needs access to all sources. */
  readonly whole?: readonly Question[];
}

const UNTIL = new Date(BASE + 1_800_000).toISOString();

const RANGE = `since=2000-01-01&until=${UNTIL}`;

const ARRIVALS = `/api/v1/arrivals?bucket_seconds=3600&since=${new Date(BASE - 86_400_000).toISOString()}&until=${UNTIL}`;

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

/** By route of the OpenAPI document, and by page. A route or page that is not here fails the test. */
export const QUESTIONS: Readonly<Record<string, Questions>> = {
  'get /api/v1/overview': { all: ['/api/v1/overview'] },
  'get /api/v1/arrivals': {
    one: ({ source }) => [{ path: `${ARRIVALS}&source=${source}` }],
  },
  'get /api/v1/activity': {
    all: [ACTIVITY],
    one: ({ source }) => [{ path: `${ACTIVITY}&source=${source}` }],
  },
  'get /api/v1/silences': { all: ['/api/v1/silences'] },
  'get /api/v1/system': { whole: [{ path: '/api/v1/system' }] },
  'get /api/v1/processes': { whole: [{ path: '/api/v1/processes' }] },
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
  'get /api/v1/alerts': {
    all: ['/api/v1/alerts'],
    one: ({ source }) => [{ path: `/api/v1/alerts?source=${source}` }],
  },
  'get /api/v1/alert-rules': {},
  'post /api/v1/alert-rules': { whole: [change('/api/v1/alert-rules', { use: 'many-keys-made' })] },
  'post /api/v1/alert-rules/test': { whole: [change('/api/v1/alert-rules/test', { use: 'many-keys-made' })] },
  'post /api/v1/alert-rules/{name}/delete': { whole: [change('/api/v1/alert-rules/many-keys-made/delete')] },
  'get /api/v1/exports/{export_id}': { one: ({ exportId }) => [{ path: `/api/v1/exports/${exportId}` }] },
  'post /api/v1/exports/{export_id}/cancel': {
    // An export that has ended is unknown, too.
    after: ({ exportId }) => [change(`/api/v1/exports/${exportId}/cancel`)],
  },
  // Followed in a test of its own.
  'get /api/v1/events/stream': {},
  'get /api/v1/events/{event_id}': {
    one: ({ eventId, at }) => [
      { path: `/api/v1/events/${eventId}` },
      { path: `/api/v1/events/${eventId}?at=${at}` },
    ],
  },
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
  'get /api/v1/deliveries': {
    all: ['/api/v1/deliveries?limit=500'],
    one: ({ source }) => [{ path: `/api/v1/deliveries?source=${source}` }],
    after: (known) => [{ path: `/api/v1/deliveries?cursor=${cursorsOf(known).deliveries}` }],
  },
  'get /api/v1/deliveries/{delivery_id}': {
    one: ({ deliveryId, replayId }) =>
      [deliveryId, replayId].map((id) => ({ path: `/api/v1/deliveries/${id}` })),
  },
  'get /api/v1/certificate': { whole: [{ path: '/api/v1/certificate?month=2026-01' }] },
  'post /api/v1/certificate/prove': { whole: [change('/api/v1/certificate/prove')] },
  'get /api/v1/coverage': {
    all: [`/api/v1/coverage?${COVERED}`],
    one: ({ source }) => [{ path: `/api/v1/coverage?${COVERED}&source=${source}` }],
  },
  'get /api/v1/coverage/quarters': {
    all: [`/api/v1/coverage/quarters?${COVERED}`],
    one: ({ source }) => [{ path: `/api/v1/coverage/quarters?${COVERED}&source=${source}` }],
  },
  'post /api/v1/mcp': {
    one: ({ source, user, mac, eventId, at }) => [
      call('search_events', { source }),
      call('get_timeline', { kind: 'user', name: user, since: at, until: UNTIL }),
      call('get_timeline', { kind: 'client', name: mac, since: at, until: UNTIL }),
      call('prove_event', { event_id: eventId, at }),
    ],
    after: ({ source }) => [call('get_coverage', { source })],
  },
  'get /api/v1/integrity': { whole: [{ path: '/api/v1/integrity?month=2026-01' }] },
  'get /api/v1/integrity/verification': { whole: [{ path: '/api/v1/integrity/verification' }] },
  'post /api/v1/integrity/verify': { whole: [change('/api/v1/integrity/verify')] },
  'get /api/v1/quarantine': {
    all: ['/api/v1/quarantine?state=all'],
    one: ({ source, mark }) => [
      { path: `/api/v1/quarantine?source=${source}` },
      { path: `/api/v1/quarantine?state=all&reason=${mark}` },
    ],
    after: (known) => [{ path: `/api/v1/quarantine?state=all&cursor=${cursorsOf(known).quarantine}` }],
  },
  'get /api/v1/quarantine/{quarantine_id}': {
    one: ({ openId, discardedId, replayedId }) =>
      [openId, discardedId, replayedId].map((id) => ({ path: `/api/v1/quarantine/${id}` })),
  },
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
  'post /api/v1/destinations': {
    whole: [change('/api/v1/destinations', { name: 'spruce', type: 'syslog', host: 'siem.example' })],
  },
  'post /api/v1/destinations/try': {
    whole: [
      change('/api/v1/destinations/try', { name: 'spruce', type: 'syslog', host: '127.0.0.1', port: 1 }),
    ],
  },
  'post /api/v1/destinations/{name}/change': {
    whole: [change(`${destination}/change`, { type: 'syslog', host: 'siem.example' })],
  },
  'post /api/v1/destinations/{name}/delete': { whole: [change(`${destination}/delete`)] },
  'post /api/v1/destinations/{name}/pause': { whole: [change(`${destination}/pause`)] },
  'post /api/v1/destinations/{name}/resume': { whole: [change(`${destination}/resume`)] },
  'post /api/v1/destinations/{name}/rewind': { whole: [change(`${destination}/rewind`, { to: 'now' })] },
  'post /api/v1/destinations/{name}/forget': { whole: [change(`${destination}/forget`)] },
  'post /api/v1/destinations/{name}/test': { whole: [change(`${destination}/test`)] },
  'post /api/v1/destinations/{name}/replay': { whole: [change(`${destination}/replay`, { all: true })] },
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
  'get /api/v1/reports/disclosures/csv': {
    whole: [{ path: `/api/v1/reports/disclosures/csv?month=${MONTH}` }],
  },
  'get /api/v1/report-schedules': { whole: [{ path: '/api/v1/report-schedules' }] },
  'get /api/v1/reports/disclosures': { whole: [{ path: `/api/v1/reports/disclosures?month=${MONTH}` }] },
  'get /api/v1/operator-log/export': {
    whole: [{ path: '/api/v1/operator-log/export?format=ndjson' }],
  },
  'get /api/v1/operator-log': { whole: [{ path: '/api/v1/operator-log' }] },
  'get /api/v1/sources': { all: ['/api/v1/sources'] },
  'post /api/v1/sources': { whole: [change('/api/v1/sources', { name: 'spruce' })] },
  'post /api/v1/sources/{name}/rotate': { whole: [change('/api/v1/sources/oak/rotate')] },
  'post /api/v1/sources/{name}/drop-old': { whole: [change('/api/v1/sources/oak/drop-old')] },
  'post /api/v1/sources/{name}/disable': { whole: [change('/api/v1/sources/oak/disable')] },
  'get /api/v1/accounts': { whole: [{ path: '/api/v1/accounts' }] },
  'post /api/v1/accounts': { whole: [change('/api/v1/accounts', { name: 'eve', role: 'admin' })] },
  'post /api/v1/accounts/{name}/change': {
    whole: [change('/api/v1/accounts/nobody/change', { role: 'viewer' })],
  },
  'post /api/v1/accounts/{name}/enable': { whole: [change('/api/v1/accounts/nobody/enable')] },
  'post /api/v1/accounts/{name}/disable': { whole: [change('/api/v1/accounts/nobody/disable')] },
  'post /api/v1/destinations/preview': {
    whole: [change('/api/v1/destinations/preview', { name: 'new', type: 'otlp', url: 'https://x.example' })],
  },
  'post /api/v1/accounts/{name}/invite': { whole: [change('/api/v1/accounts/nobody/invite')] },
  'post /api/v1/access-tokens/{token_id}/revoke': { whole: [change('/api/v1/access-tokens/404/revoke')] },
  'post /api/v1/reload': { whole: [change('/api/v1/reload')] },
  'get /api/v1/settings/added': { whole: [{ path: '/api/v1/settings/added' }] },
  'get /api/v1/settings': { whole: [{ path: '/api/v1/settings' }] },

  '/': {
    all: [`/?${RANGE}`],
    one: ({ source }) => [{ path: `/?${RANGE}&source=${source}` }],
  },
  '/events': {
    all: [`/events?${RANGE}`],
    one: (known) => filters('/events', known),
    after: (known) => [{ path: `/events?${RANGE}&cursor=${cursorsOf(known).events}` }],
  },
  '/events/:event_id': {
    one: ({ eventId, at }) => [{ path: `/events/${eventId}` }, { path: `/events/${eventId}?at=${at}` }],
  },
  '/people': { one: ({ user }) => [{ path: `/people?q=${user}` }] },
  '/devices': { one: ({ mac, ap }) => [mac, ap].map((q) => ({ path: `/devices?q=${q}` })) },
  '/devices/access-point': { one: ({ ap }) => [{ path: `/devices/access-point?mac=${ap}` }] },
  '/people/user': { one: ({ user }) => [{ path: `/people/user?name=${user}&${RANGE}` }] },
  '/devices/client': { one: ({ mac }) => [{ path: `/devices/client?mac=${mac}&${RANGE}` }] },
  // It leads to /devices/client.
  '/people/client': {},
  // It leads to /events.
  '/live': {},
  '/deliveries': {
    all: ['/deliveries'],
    one: ({ source }) => [{ path: `/deliveries?source=${source}` }],
    after: (known) => [{ path: `/deliveries?cursor=${cursorsOf(known).deliveries}` }],
  },
  '/deliveries/:delivery_id': {
    one: ({ deliveryId, replayId }) => [deliveryId, replayId].map((id) => ({ path: `/deliveries/${id}` })),
  },
  // A page of a month changes while the test runs.
  '/coverage': { after: ({ source }) => [{ path: '/coverage' }, { path: `/coverage?source=${source}` }] },
  // It says when it was made: no two answers are the same (test/commands/certificate.test.ts).
  '/certificate': {},
  '/reports': {
    all: [`/reports?month=${MONTH}`],
    after: () => [{ path: `/reports?name=logins&month=${MONTH}` }],
  },
  '/alerts': {
    all: ['/alerts'],
    one: ({ source }) => [{ path: `/alerts?source=${source}` }],
  },
  '/alerts/edit': { whole: [{ path: '/alerts/edit?rule=many-keys-made' }] },
  '/destinations/add/:product': { whole: [{ path: '/destinations/add/splunk' }] },
  '/destinations/:name/edit': { whole: [{ path: `/destinations/${DESTINATION}/edit` }] },
  '/integrity': { whole: [{ path: '/integrity?month=2026-01' }] },
  '/quarantine': {
    all: ['/quarantine?state=all'],
    one: ({ source, mark }) => [
      { path: `/quarantine?state=all&source=${source}` },
      { path: `/quarantine?state=all&reason=${mark}` },
    ],
    after: (known) => [{ path: `/quarantine?state=all&cursor=${cursorsOf(known).quarantine}` }],
  },
  '/quarantine/:quarantine_id': {
    one: ({ openId, discardedId, replayedId }) =>
      [openId, discardedId, replayedId].map((id) => ({ path: `/quarantine/${id}` })),
  },
  '/destinations': { all: [] },
  '/destinations/:name': {
    all: [`/destinations/${DESTINATION}`],
    after: (known) => [{ path: `/destinations/${DESTINATION}?cursor=${cursorsOf(known).rejected}` }],
  },
  '/subscriptions': { all: ['/subscriptions'] },
  '/operator-log': { whole: [{ path: '/operator-log' }] },
  '/sources': { all: ['/sources'] },
  '/access': { whole: [{ path: '/access' }] },
  '/system': { whole: [{ path: '/system' }] },
  '/settings': { whole: [{ path: '/settings' }] },
  '/metrics': { whole: [{ path: '/metrics' }] },
};

/** Addresses whose answers have nothing of a source but its numbers. */
export const NUMBERS: readonly string[] = [
  '/api/v1/destinations',
  '/destinations',
  ARRIVALS,
  `/api/v1/events/facets?${RANGE}`,
  `/api/v1/events/histogram?${RANGE}`,
];
