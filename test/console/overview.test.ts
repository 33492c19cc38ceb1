import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { errorBody } from '../../src/console/api/openapi.ts';
import {
  activitySchema,
  arrivalsSchema,
  overviewSchema,
  silenceSchema,
} from '../../src/console/overview/overview-schemas.ts';
import { processSchema, systemSchema } from '../../src/console/system/system-figures.ts';
import { openDatabase } from '../../src/store/server/database.ts';
import { reportProcess } from '../../src/store/server/processes.ts';
import { startAdmin } from '../support/admin.ts';
import { deliverAndCount } from '../support/arrivals.ts';
import { emptyTables } from '../support/database.ts';
import { factsIn, rowsIn, textIn } from '../support/read-page.ts';
import { useConsole } from '../support/use-console.ts';
import { withDates } from '../support/with-dates.ts';
import { insertAudits } from '../support/stored-rows.ts';
import { untilSeen } from '../support/until-seen.ts';
import { overviewForTests, systemForTests } from './overview/overview-for-tests.ts';
import { eventsForTests } from '../support/events-area.ts';

const processes = z.object({ items: z.array(processSchema) });
const found = z.object({ items: z.array(z.unknown()) });
const silences = z.object({ items: z.array(silenceSchema) });

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const quiet = async () => [
  {
    source: 'default',
    messageType: 'SMS_LOG_ALL' as const,
    lastReceivedAt: new Date('2026-01-01T00:00:00Z'),
    state: 'unusual' as const,
    sentence: 'nothing for 3 h; about 200 arrive in such a time',
  },
];
const admin = useConsole((db) => [overviewForTests(db, { silences: quiet }), systemForTests(db)], {
  logs: true,
});
beforeEach(async () => {
  await emptyTables(admin.db);
  await admin.query`truncate arrivals, arrival_totals, processes, destinations`;
});

const ago = (ms: number) => new Date(Date.now() - ms);

const FIGURES = {
  answers: { perSecond: 12.5, p50Ms: 3.4, p99Ms: 21, refusedPerSecond: 0.2 },
  spool: { bytes: 2_500_000, segments: 3, oldestSeconds: 400 },
  queueWorks: true,
  storing: { eventsPerSecond: 44, p50Ms: 5, p99Ms: 60 },
  memoryBytes: 200_000_000,
  eventLoopDelayP99Ms: 4,
  cpuPercent: 33,
};

const IDENTITY = { role: 'all', host: 'collector', pid: 4711, version: '1.2.3', started_at: new Date() };

test('the chart asks for any stretch, and for one source', async () => {
  await deliverAndCount(
    admin.db,
    { receivedAt: new Date('2026-03-01T10:04:30Z'), messageType: 'AUDIT_LOG_ALL', events: 2 },
    { receivedAt: new Date('2026-03-01T10:50:00Z'), messageType: 'AUDIT_LOG_ALL', source: 'other' },
  );
  const range = 'since=2026-03-01T10:00:00Z&until=2026-03-01T12:00:00Z';
  const all = arrivalsSchema.parse(withDates(await admin.get(`/arrivals?${range}`)));
  expect(all).toMatchObject({ since: '2026-03-01T10:00:00.000Z', bucket_seconds: 3600 });
  expect(all.items).toMatchObject([
    {
      bucket: '2026-03-01T10:00:00.000Z',
      message_type: 'AUDIT_LOG_ALL',
      events: 3,
      deliveries: 2,
      bytes: 200,
    },
  ]);
  const some = arrivalsSchema.parse(withDates(await admin.get(`/arrivals?${range}&source=other`)));
  expect(some.items).toMatchObject([{ events: 1 }]);
});

test.each([
  ['since=yesterday', 'time such as'],
  ['since=2026-03-02&until=2026-03-01', 'must be later than since'],
])('a stretch that cannot be is refused: %s', async (query, message) => {
  const answer = await fetch(`${admin.url}/api/v1/arrivals?${query}`);
  expect(answer.status).toBe(400);
  expect(errorBody.parse(await answer.json()).error_message).toContain(message);
});

test('processes stand with their figures, the dead ones marked, and only the living make the rates', async () => {
  const ids = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const;
  for (const id of ids) await reportProcess(admin.db, { ...IDENTITY, process_id: id }, FIGURES);
  await admin.query`update processes set seen_at = now() - interval '1 hour' where process_id = ${ids[1]}`;
  const system = systemSchema.parse(withDates(await admin.get('/system')));
  expect(system.answers).toMatchObject({ processes: 1, per_second: 12.5, p99_ms: 21 });
  expect(system.spool).toEqual({ bytes: 2_500_000, segments: 3, oldest_seconds: 400 });
  const { items } = processes.parse(withDates(await admin.get('/processes')));
  expect(items).toMatchObject([
    { is_alive: true, role: 'all', host: 'collector', version: '1.2.3', memory_bytes: 200_000_000 },
    { is_alive: false },
  ]);
  const page = await admin.page('/system');
  expect(textIn(page)).toContain('13 deliveries/s latency p50 3.4 ms, p99 21 ms rejected 0.2/s processes 1');
  expect(textIn(page)).toContain('44 events/s transactions p50 5 ms, p99 60 ms processes 1');
  expect(factsIn(page)).toMatchObject({
    spool: '2.4 MiB in 3 files, oldest 6 min 40 s',
    oldest: '1 min 30 s',
    failed: '0',
  });
  const time = expect.stringMatching(/^20/) as unknown;
  const figures = ['1.2.3', '191 MiB', '33 %', '4 ms', time];
  expect(rowsIn(page, 'Processes of the last day')).toEqual([
    ['all collector 4711', 'running', ...figures, expect.stringMatching(/ [0-9]+ m?s ago$/)],
    ['all collector 4711', 'not reporting', ...figures, expect.stringMatching(/ 60 min ago$| 1 h ago$/)],
  ]);
  expect(page).toMatch(/RETENTION_AUDIT_MONTHS<\/code><\/dt>\s*<dd>12 months/);
  expect(page).toMatch(/RETENTION_LOG_MONTHS<\/code><\/dt>\s*<dd>not set: everything is kept/);
  expect(page).toMatch(
    /ARCHIVE_AFTER_MONTHS<\/code><\/dt>\s*<dd>not set\. The months before 20\d\d-\d\d take [\d.]+ \w+ in the database/,
  );
});

test('destinations say by how much they are behind', async () => {
  await admin.query`
    insert into destinations (name, state, cursor_position, last_error)
    values ('siem', 'refused', 0, 'certificate has expired')`;
  await admin.query`
    insert into audit_events (event_id, delivery_id, source, message_type, occurred_at, received_at, origin, payload)
    select gen_random_uuid(), gen_random_uuid(), 'a', 'AUDIT_LOG_ALL', now(), now() - interval '3 hours', 'webhook', '{}'
    from generate_series(1, 10005)`;
  await untilSeen(admin.db);
  const destinations = () => [
    { name: 'siem', type: 'https', formatName: 'json', origin: 'settings' } as const,
  ];
  const siem = await startAdmin([overviewForTests(admin.db, { destinations })], admin.db);
  const { answers } = overviewSchema.parse(withDates(await siem.get('/overview')));
  expect(answers.forwarded.status).toMatchObject({
    level: 'bad',
    word: 'refused',
    what: 'siem: refused, 10,005 events behind (3 h): certificate has expired',
    page: '/destinations/siem',
  });
  expect(await siem.page('/')).toContain('10,005 events');
  await siem.close();
});

test('silences stand with their state as a word and their sentence', async () => {
  const { items } = silences.parse(withDates(await admin.get('/silences')));
  expect(items).toMatchObject([
    { message_type: 'SMS_LOG_ALL', state: 'unusual', last_received_at: '2026-01-01T00:00:00.000Z' },
  ]);
  expect(await admin.page('/')).toContain('nothing for 3 h; about 200 arrive in such a time');
});

test('what does not add up is told at the top, and where to look', async () => {
  await deliverAndCount(admin.db, { receivedAt: ago(MINUTE), messageType: 'AUDIT_LOG_ALL' });
  expect(await admin.get('/conservation')).toMatchObject({ adds_up: true });
  expect(await admin.page('/')).not.toContain('does not add up');

  await deliverAndCount(admin.db, { receivedAt: ago(MINUTE), messageType: 'GDPR_LOG_ALL', lost: 2 });
  expect(await admin.get('/conservation')).toMatchObject({
    adds_up: false,
    items: [
      { message_type: 'AUDIT_LOG_ALL', adds_up: true },
      { message_type: 'GDPR_LOG_ALL', expected: 3, events: 1, unbalanced: 1, adds_up: false },
    ],
  });
  const before = `?until=${ago(HOUR).toISOString()}`;
  expect(await admin.get(`/conservation${before}`)).toMatchObject({ adds_up: true, items: [] });
  const page = await admin.page('/');
  expect(page).toContain('default GDPR_LOG_ALL: 1 delivery');
  expect(page).toContain('href="/quarantine"');
});

test('before anything arrived the page shows how to send a first delivery, without the secret', async () => {
  const page = await admin.page('/');
  expect(page).toContain('$(cat data/webhook-secret)');
  expect(page).toContain('href="/subscriptions"');

  await deliverAndCount(admin.db, { receivedAt: ago(MINUTE), messageType: 'AUDIT_LOG_ALL' });
  expect(await admin.page('/')).not.toContain('data/webhook-secret');
});

test('the first event is counted seconds after it arrived', async () => {
  await insertAudits(admin.db, { occurredAt: ago(2_000) });
  // Pages of one second share the answer.
  await expect
    .poll(() => admin.page('/'), { timeout: 5_000 })
    .toMatch(/<h2>Events<\/h2>\s*<strong><a [^>]*>1<\/a>/);
});

test('the account of a range counts what arrived in it, and names the range', async () => {
  const [first, second] = [new Date('2026-03-01T10:00:00Z'), new Date('2026-03-02T10:00:00Z')];
  await deliverAndCount(
    admin.db,
    { receivedAt: first, messageType: 'AUDIT_LOG_ALL', events: 3 },
    { receivedAt: second, messageType: 'AUDIT_LOG_ALL', lost: 1 },
  );
  const of = async (query: string) => admin.get(`/conservation${query}`);
  expect(await of('')).toMatchObject({ adds_up: false, since: null, until: null, items: [{ events: 4 }] });
  expect(await of('?since=2026-03-01&until=2026-03-02')).toMatchObject({
    adds_up: true,
    since: '2026-03-01T00:00:00.000Z',
    until: '2026-03-02T00:00:00.000Z',
    items: [{ source: 'default', message_type: 'AUDIT_LOG_ALL', deliveries: 1, events: 3 }],
  });
  expect(await of('?since=2026-03-02')).toMatchObject({ adds_up: false, items: [{ unbalanced: 1 }] });
  await expect(of('?since=2026-03-02&until=2026-03-01')).rejects.toThrow('must be later than since');
});

test.each([
  [5 * MINUTE, 'hour'],
  [5 * HOUR, '24 hours'],
  [50 * HOUR, '7 days'],
  [40 * 24 * HOUR, undefined],
])(
  'the page opens on the shortest range in which anything arrived, else on its day: %i ms ago',
  async (age, range) => {
    await deliverAndCount(admin.db, { receivedAt: ago(age), messageType: 'SMS_LOG_ALL', count: 77 });
    // Another console keeps no answers of before.
    const fresh = await startAdmin([overviewForTests(admin.db)], admin.db);
    onTestFinished(() => fresh.close());
    const page = await fresh.page('/');
    expect(/aria-current="true"\s*>Last ([^<]*)</.exec(page)?.[1]).toBe(range);
  },
);

test('with the database away the page still says how the service is, and why the rest is missing', async () => {
  const away = openDatabase('postgres://nobody@127.0.0.1:1/none', () => undefined);
  const readiness = async () => ({
    checks: [{ name: 'database', state: 'away', why: 'connect ECONNREFUSED 127.0.0.1:1' }],
  });
  const token = 'the-admin-token-0123456789';
  const areas = [overviewForTests(away, { readiness }), systemForTests(away)];
  const alone = await startAdmin(areas, away, { token });
  onTestFinished(async () => {
    await alone.close();
    await away.destroy();
  });
  const unknown = { status: { word: 'unknown' } };
  expect(await alone.get('/overview')).toMatchObject({
    answers: {
      arriving: unknown,
      stored: { status: { level: 'bad', word: 'database away', page: '/system' } },
      forwarded: unknown,
      proven: unknown,
    },
  });
  expect(await alone.get('/system')).toMatchObject({ storage: null, queue: { waiting: 7 } });
  expect(await alone.page('/')).toContain('database: connect ECONNREFUSED');
  const page = await alone.page('/system');
  expect(page).toContain('7<span class="unit"> jobs waiting');
  expect(page).toContain('connect ECONNREFUSED');
});

test('a queue that is away is told in its place', async () => {
  const queue = () => Promise.reject(new Error('the queue did not answer'));
  const alone = await startAdmin([systemForTests(admin.db, { queue })], admin.db);
  onTestFinished(() => alone.close());
  expect(await alone.page('/system')).toContain('the queue did not answer');
  const none = { waiting: 0, active: 0, delayed: 0, failed: 0, oldestWaitingSeconds: undefined };
  const empty = await startAdmin([systemForTests(admin.db, { queue: async () => none })], admin.db);
  onTestFinished(() => empty.close());
  expect(factsIn(await empty.page('/system'))).toMatchObject({ oldest: 'queue empty', active: '0' });
});

test('each figure is what the search behind it finds', async () => {
  const at = ago(5 * MINUTE);
  const audit = (code: number | null, user: string | null) =>
    admin.query`insert into audit_events (event_id, delivery_id, source, message_type, occurred_at, received_at, origin, payload, code, user_name)
      values (gen_random_uuid(), gen_random_uuid(), 'default', 'AUDIT_LOG_ALL', ${at}, ${at}, 'webhook', '{}', ${code}::bigint, ${user})`;
  for (const code of [10001, 10001, 10002, 40001, 50000, null]) await audit(code, 'Ann "A" Berg');
  await audit(10001, 'ann "a" berg');
  await audit(40001, null);
  const login = (reply: string, ssid: string, user: string) =>
    admin.query`insert into log_entries (event_id, delivery_id, source, message_type, occurred_at, received_at, origin, payload, reply, ssid, username)
      values (gen_random_uuid(), gen_random_uuid(), 'default', 'AUTHENTICATION_LOG_ALL', ${at}, ${at}, 'webhook',
        ${JSON.stringify({ reply })}::jsonb, ${reply}, ${ssid}, ${user})`;
  await login('Access-Reject', 'Guests', 'gil');
  await login('Access-Reject', 'guests', 'Gil');
  await login('Access-Accept', 'Guests', 'gil');
  const range = { since: ago(HOUR).toISOString(), until: ago(-MINUTE).toISOString() };
  const answer = await admin.get(`/activity?${new URLSearchParams(range).toString()}`);
  const activity = activitySchema.parse(withDates(answer));
  expect(activity.administrators).toMatchObject([
    {
      user: expect.stringMatching(/^ann "a" berg$/i) as unknown,
      logins: { count: 3 },
      changes: { count: 2 },
      keys_created: { count: 1 },
      keys_deleted: { count: 0 },
    },
  ]);
  expect(activity.keys_created.count).toBe(2);
  expect(activity.failed_logins).toMatchObject({ count: 2, ssids: [{ count: 2 }], users: [{ count: 2 }] });
  const [ann] = activity.administrators ?? [];
  const figures = [
    activity.events,
    ...activity.types,
    activity.keys_created,
    activity.failed_logins,
    ...activity.failed_logins.ssids,
    ...activity.failed_logins.users,
    ...(ann === undefined ? [] : [ann.logins, ann.changes, ann.keys_created, ann.keys_deleted]),
  ];
  expect(figures.length).toBeGreaterThan(10);
  const searching = await startAdmin([eventsForTests(admin.db)], admin.db);
  for (const { q, count } of figures) {
    const query = new URLSearchParams({ ...range, q, limit: '1000' });
    const { items } = found.parse(await searching.get(`/events?${query}`));
    expect({ q, count: items.length }).toEqual({ q, count });
  }
  await searching.close();
  const page = await admin.page(`/?${new URLSearchParams(range).toString()}`);
  expect(page).toContain('href="/events?q=type%3AAUTHENTICATION_LOG_ALL+%22Access-Reject%22&amp;since=');
});
