import { expect, it } from 'vitest';
import { z } from 'zod';
import { storeAudits } from '../support/actions.ts';
import { eventsForTests } from '../support/events-area.ts';
import { outputsForTests } from '../support/outputs.ts';
import { fieldsIn, linksIn, rowsIn, textIn } from '../support/read-page.ts';
import { useConsole } from '../support/use-console.ts';

const HOUR = 3_600_000;
const ago = (hours: number) => new Date(Date.now() - hours * HOUR);

const admin = useConsole(
  (db) => {
    const { alerts, destinations } = outputsForTests(db);
    return [alerts, destinations, eventsForTests(db)];
  },
  {
    logs: true,
    seed: (db) => storeAudits(db, ...[1, 2, 3, 4, 5, 6].map((userId) => ({ userId, userName: 'eve' }))),
  },
);

const RAISED = 'Raised alerts, newest first';

const alerts = z.object({ items: z.array(z.object({ count: z.number() })) });
const countsOf = async (query: string) =>
  alerts.parse(await admin.get(`/alerts?${query}`)).items.map(({ count }) => count);

it('the page says why there are no alerts', async () => {
  expect(await admin.page('/alerts')).toContain('All rules are off.');
  await admin.post('/saved-searches/alert', { name: 'Code 1', line: 'code:1' });
  expect(await admin.page('/alerts')).toContain('No rule has raised an alert yet.');
  expect(await admin.page('/alerts?source=oak')).toContain('No alerts match.');
});

const cause = { event_id: '01a20087-2e5c-8687-826d-5999ab661330', occurred_at: '2026-01-20T08:00:00.000Z' };

/** The number of events of an alert stands for it. */
const ALERTS = [
  {
    count: 6,
    hours: 800,
    rule: 'logins-failed',
    title: 'Many failed logins',
    severity: 'high',
    source: 'oak',
  },
  { count: 7, hours: 3, rule: 'own', title: 'Own', severity: 'medium', source: 'elm' },
  { count: 1, hours: 1, rule: 'logins-failed', title: 'Many failed logins', severity: 'high', source: 'elm' },
] as const;

it('alerts are listed newest first, by rule, source and the time at which they were raised', async () => {
  await admin.post('/alert-rules', {
    name: 'of-eve',
    search: 'user:eve',
    title: 'What eve does',
    severity: 'low',
  });
  for (const { count, hours, ...alert } of ALERTS) {
    const times = { raised_at: ago(hours), first_at: ago(hours), last_at: ago(hours) };
    const [causes, group] = [
      count === 1 ? [] : [{ ...cause, event_id: cause.event_id.replace('0', '1') }, cause],
      { user: 'eve' },
    ];
    await admin.db
      .insertInto('alerts')
      .values({
        ...alert,
        ...times,
        event_count: count,
        grouped_by: JSON.stringify(group),
        causes: JSON.stringify(causes),
      })
      .execute();
  }
  expect(await countsOf('')).toEqual([1, 7, 6]);
  expect(await countsOf('rule=logins-failed')).toEqual([1, 6]);
  expect(await countsOf('source=elm')).toEqual([1, 7]);
  expect(await countsOf('since=30d')).toEqual([1, 7]);
  expect(await countsOf('until=2h')).toEqual([7, 6]);
  expect(await countsOf('limit=2')).toEqual([1, 7]);
  expect(await admin.get('/alerts?rule=own')).toMatchObject({
    items: [
      {
        rule: 'own',
        title: 'Own',
        severity: 'medium',
        source: 'elm',
        group: { user: 'eve' },
        causes: [{}, cause],
      },
    ],
  });

  const page = await admin.page('/alerts');
  expect(rowsIn(page, RAISED).map(([, ...cells]) => cells)).toEqual([
    ['high', 'Many failed logins logins-failed', 'user eve', 'elm', '1 event'],
    ['medium', 'Own own', 'user eve', 'elm', '7 events'],
    ['high', 'Many failed logins logins-failed', 'user eve', 'oak', '6 events'],
  ]);
  expect(linksIn(page)['7 events']).toBe(
    `/events/${cause.event_id}?at=${encodeURIComponent(cause.occurred_at)}`,
  );
  expect(linksIn(page)['1 event']).toBeUndefined();
  expect(page).toContain('3 alerts');
  const some = await admin.page('/alerts?limit=2&source=elm&rule=own');
  expect(rowsIn(some, RAISED)).toHaveLength(1);
  expect(fieldsIn(some)).toMatchObject({ rule: '', source: 'elm' });
  expect(await admin.page('/alerts?limit=2')).toContain('Showing only the newest 2.');
});

it('rules are listed with what they have raised, those that are on first', async () => {
  const { items } = z
    .object({ items: z.array(z.looseObject({ name: z.string(), on: z.boolean() })) })
    .parse(await admin.get('/alert-rules'));
  expect(items.map(({ on }) => on)).toEqual([true, true, ...items.slice(2).map(() => false)]);
  expect(items.find(({ name }) => name === 'logins-failed')).toEqual({
    name: 'logins-failed',
    title: 'Many failed logins',
    severity: 'medium',
    on: false,
    saved_search: null,
    last_alert: expect.stringMatching(/^20.*Z$/) as unknown,
    alerts_30d: 1,
  });
  const page = await admin.page('/alerts');
  const rules = rowsIn(page, 'Rules');
  expect(rules[0]).toEqual([
    expect.stringMatching(/^Code 1 search-1 code:1 saved by local user\b/),
    'on',
    'medium',
    'none',
    '0',
    '',
  ]);
  expect(rules[1]).toEqual(['What eve does of-eve', 'on', 'low', 'none', '0', 'Change Switch off']);
  expect(rules.find(([rule]) => rule?.endsWith('logins-failed'))?.slice(1, 6)).toEqual([
    'off',
    'medium',
    expect.stringMatching(/^20/),
    '1',
    'Switch on',
  ]);
  expect(linksIn(page)).toMatchObject({
    'Add a rule': '/alerts/edit',
    Change: '/alerts/edit?rule=of-eve',
    'code:1': '/events?q=code%3A1',
    '1': '/alerts?rule=logins-failed&since=30d',
  });
});

it('the form of a rule begins with its settings, and shows what it would have raised', async () => {
  const anew = { name: '', title: '', search: '', severity: 'medium', count: '', within: '', slack_url: '' };
  const add = await admin.page('/alerts/edit');
  expect(fieldsIn(add)).toEqual(anew);
  expect(add).toContain('Switch on</button>');
  expect(add).not.toContain('would have raised');
  const own = await admin.page('/alerts/edit?rule=of-eve');
  expect(fieldsIn(own)).toEqual({
    ...anew,
    name: 'of-eve',
    title: 'What eve does',
    search: 'user:eve',
    severity: 'low',
  });
  expect(own).toContain('Save</button>');
  expect(textIn(own)).toContain('This rule would have raised 6 alerts in the last 90 days. The newest 5:');
  expect(own.slice(own.indexOf('The newest 5')).match(/<li>/g)).toHaveLength(5);
  const builtIn = await admin.page('/alerts/edit?rule=logins-failed');
  expect(fieldsIn(builtIn)).toEqual({
    use: 'logins-failed',
    severity: 'medium',
    count: '15',
    within: '10m',
    slack_url: '',
  });
  expect(builtIn).toContain('This rule would have raised 0 alerts in the last 90 days.<');
  const silent = fieldsIn(await admin.page('/alerts/edit?rule=access-point-silent'));
  expect(silent).toMatchObject({ use: 'access-point-silent', silent_for: '1h' });
  expect(silent).not.toHaveProperty('count');
  await expect(admin.page('/alerts/edit?rule=nothing')).rejects.toThrow('answered 404');
});
