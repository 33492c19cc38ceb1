import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { deliveriesArea } from '../../src/console/deliveries/deliveries-area.ts';
import type { Destination } from '../../src/forward/parse-destinations.ts';
import { addDestination, recordFailure } from '../../src/store/destinations/destinations.ts';
import { fileDestination, lastAction, refuseAll, storeAudits, takenBy } from '../support/actions.ts';
import { startAdmin } from '../support/admin.ts';
import { holderOf, takeLease } from '../support/lease.ts';
import { factsIn, fieldsIn, linksIn, rowsIn, textIn } from '../support/read-page.ts';
import { untilSeen } from '../support/until-seen.ts';
import { useConsole } from '../support/use-console.ts';
import { useDirectory } from '../support/use-directory.ts';
import { outputsForTests } from '../support/outputs.ts';

const START = 0;

const directory = useDirectory();
const away: Destination = {
  ...fileDestination('away', directory),
  fingerprint: '',
  createSender: () => ({
    send: async () => {
      throw new Error('connect ECONNREFUSED');
    },
    close: async () => undefined,
  }),
};
const configured = [fileDestination('archive', directory), away];
const admin = useConsole((db) => [deliveriesArea({ db }), outputsForTests(db, configured).destinations], {
  logs: true,
  seed: async (db) => {
    await storeAudits(db, { userId: 1 }, { userId: 2 }, { userId: 3 });
    await untilSeen(db);
  },
});
beforeEach(async () => {
  await admin.db.deleteFrom('destinations').execute();
  await admin.db.deleteFrom('rejected_events').execute();
});

const listed = z.object({ items: z.array(z.looseObject({ name: z.string() })) });

async function stateOf(name: string): Promise<unknown> {
  const { items } = listed.parse(await admin.get('/destinations'));
  return items.find((item) => item.name === name);
}

describe('the list of destinations', () => {
  it('has those of the settings and those that once were, and how each is', async () => {
    await addDestination(admin.db, 'old', START);
    expect(await stateOf('archive')).toMatchObject({ state: 'not started', type: 'file', behind: null });
    expect(await stateOf('old')).toMatchObject({ state: 'not configured', behind: 3 });
    const page = await admin.page('/destinations');
    expect(rowsIn(page, 'Destinations')).toEqual([
      ['archive', 'not started', 'file, json', 'unknown', '0', 'never', '0', 'none', ''],
      ['away', 'not started', 'file, json', 'unknown', '0', 'never', '0', 'none', ''],
      [
        'old',
        'not configured',
        '',
        expect.stringMatching(/^3 events \(\d+ s\)$/),
        '0',
        'never',
        '0',
        'none',
        'Delete',
      ],
    ]);
    expect(page).toContain('data-action="/destinations/old/forget"');
    const old = await admin.page('/destinations/old');
    expect(factsIn(old)).toMatchObject({ State: 'not configured', Type: 'removed', 'Defined in': 'none' });
    expect(textIn(old)).toContain('This destination was removed.');
    expect(textIn(old)).not.toContain('Resend from');
    await expect(admin.page('/destinations/nowhere')).rejects.toThrow('answered 404');
    expect(linksIn(page)).toMatchObject({ Syslog: '/destinations/add/syslog', S3: '/destinations/add/s3' });
  });

  it('says what to set when there is none', async () => {
    const empty = await startAdmin([outputsForTests(admin.db).destinations], admin.db);
    expect(await empty.page('/destinations')).toContain('FORWARD_TO');
    await empty.close();
  });
});

describe('a change', () => {
  it('pauses and resumes, also one that had refused us, and stands in the operator log', async () => {
    await addDestination(admin.db, 'archive', START);
    await admin.post('/destinations/archive/pause', {});
    expect(await stateOf('archive')).toMatchObject({ state: 'paused', behind: 3 });
    const paused = await admin.page('/destinations/archive');
    expect(paused).toContain('data-action="/destinations/archive/resume"');
    expect(paused).toContain('Up to 3 events waiting now');
    expect(await lastAction(admin.db)).toMatchObject({
      action: 'destination.pause',
      subject: 'archive',
      outcome: 'done',
    });
    await takeLease(admin.db, 'archive');
    await admin.post('/destinations/archive/resume', {});
    await recordFailure(admin.db, holderOf('archive'), '401', 'refused');
    expect(await stateOf('archive')).toMatchObject({ state: 'refused' });
    expect(await admin.page('/deliveries')).toContain('title="Destinations: archive refused"');
    expect(factsIn(await admin.page('/destinations/archive'))).toMatchObject({
      State: 'refused',
      Type: 'file, format json',
      'Defined in': 'the settings (XIQ_SINK_CONFIG or FORWARD_TO)',
      Backlog: expect.stringMatching(/^3 events \(\d+ s\)$/) as unknown,
      'Last error': expect.stringMatching(/^401 \( \d+ s ago/) as unknown,
    });
    // Backlog, counts and errors of all sources are none of one source.
    const ofOne = await admin.page('/destinations/archive?source=oak');
    expect(Object.keys(factsIn(ofOne))).toEqual(['State', 'Type', 'Defined in']);
    const listOfOne = await admin.page('/destinations?source=oak');
    expect(rowsIn(listOfOne, 'Destinations')[0]).toEqual(['archive', 'refused', 'file, json', '0', 'Resume']);
    await admin.post('/destinations/archive/resume', {});
    expect(await stateOf('archive')).toMatchObject({ state: 'running', behind: 3 });
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.resume' });
  });

  it('moves the place to now, by a span or to a time in UTC', async () => {
    await admin.post('/destinations/archive/rewind', { to: '1h' });
    expect(await stateOf('archive')).toMatchObject({ behind: 3 });
    await untilSeen(admin.db);
    await admin.post('/destinations/archive/rewind', { to: 'now' });
    expect(await stateOf('archive')).toMatchObject({ behind: 0 });
    const current = await admin.page('/destinations/archive');
    expect(factsIn(current)).toMatchObject({ Backlog: 'none', 'Last error': 'none' });
    expect(current).not.toContain('Skip backlog');
    await admin.post('/destinations/archive/rewind', { to: '2026-01-01T08:00' });
    expect(await stateOf('archive')).toMatchObject({ behind: 3 });
    expect(await lastAction(admin.db)).toMatchObject({
      action: 'destination.rewind',
      details: { to: '2026-01-01T08:00:00.000Z' },
    });
    await expect(admin.post('/destinations/archive/rewind', { to: 'noon' })).rejects.toThrow('answered 400');
  });

  it('forgets only what the settings do not have', async () => {
    await refuseAll(admin.db, 'old');
    await expect(admin.post('/destinations/archive/forget', {})).rejects.toThrow('still configured');
    await admin.post('/destinations/old/forget', {});
    expect(await stateOf('old')).toBeUndefined();
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.forget', subject: 'old' });
  });

  it.each(['pause', 'resume', 'forget', 'test'])('is refused for an unknown name: %s', async (verb) => {
    await expect(admin.post(`/destinations/nowhere/${verb}`, {})).rejects.toThrow('answered 404');
  });
});

describe('a test event', () => {
  it('is sent, and stands in the operator log', async () => {
    expect(await admin.post('/destinations/archive/test', {})).toMatchObject({ refusal: null });
    expect(await takenBy('archive', directory)).toContain('"description":"TEST EVENT');
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.test', outcome: 'done' });
  });

  it('says why nothing could be sent', async () => {
    await expect(admin.post('/destinations/away/test', {})).rejects.toThrow('connect ECONNREFUSED');
    expect(await lastAction(admin.db)).toMatchObject({ action: 'destination.test', outcome: 'failed' });
  });
});

describe('refused events', () => {
  const rejected = z.object({
    items: z.array(z.object({ event_id: z.string() })),
    next_cursor: z.string().nullable(),
  });
  const idsOf = async (query = '') =>
    rejected
      .parse(await admin.get(`/destinations/archive/rejected${query}`))
      .items.map((one) => one.event_id);

  it('are listed by pages and sent again, chosen or all, part by part', async () => {
    await refuseAll(admin.db, 'archive');
    const first = rejected.parse(await admin.get('/destinations/archive/rejected?limit=2'));
    expect(await idsOf(`?limit=2&cursor=${first.next_cursor}`)).toHaveLength(1);
    const page = await admin.page('/destinations/archive');
    const time = expect.stringMatching(/^20/) as unknown;
    const row = ['', time, 'AUDIT_LOG_ALL', time, expect.stringContaining('no such field')];
    expect(rowsIn(page, 'Rejected events')).toEqual([row, row, row]);
    expect(textIn(page)).toContain('3 events rejected because of their content.');
    expect(page).toContain('Resend all');
    // It would resend those of other sources, which this page does not show.
    const ofOne = await admin.page('/destinations/archive?source=default');
    expect(ofOne).toContain('Resend selected');
    expect(ofOne).not.toContain('Resend all');
    expect(rowsIn(await admin.page('/destinations'), 'Destinations')[0]?.[6]).toBe('3');
    expect(linksIn(await admin.page('/destinations'))).toMatchObject({ '3': '/destinations/archive' });

    const [chosen = ''] = await idsOf();
    expect(await admin.post('/destinations/archive/replay', { ids: [chosen] })).toEqual({
      results: [{ event_id: chosen, reason: null }],
      next_cursor: null,
    });
    expect(await idsOf()).toHaveLength(2);
    const part = z
      .object({ next_cursor: z.string() })
      .parse(await admin.post('/destinations/archive/replay', { all: true, limit: 1 }));
    await admin.post('/destinations/archive/replay', { all: true, limit: 1, cursor: part.next_cursor });
    expect(await idsOf()).toEqual([]);
    expect(await lastAction(admin.db)).toMatchObject({
      action: 'destination.replay',
      subject: 'archive',
      result: { sent: 1, left: 0 },
    });
  });

  it('stay as they were when the destination cannot be reached, or has not refused them', async () => {
    await refuseAll(admin.db, 'away');
    await expect(admin.post('/destinations/away/replay', { all: true })).rejects.toThrow('ECONNREFUSED');
    expect(await stateOf('away')).toMatchObject({ rejected: 3 });
    const ids = ['01a20087-2e5c-8687-826d-5999ab661330'];
    await expect(admin.post('/destinations/away/replay', { ids })).rejects.toThrow('has no rejected event');
  });
});

describe('the form of a destination', () => {
  const form = async (path: string) => {
    const page = await admin.page(`/destinations/${path}`);
    return { fields: fieldsIn(page), more: /name="more"[^>]*>\s*([^<]*)/.exec(page)?.[1]?.trim(), page };
  };
  const common = { format: '', 'filter.search': '', 'filter.rule_alerts': '' };

  it.each([
    ['syslog', { type: 'syslog', host: '', port: '6514', transport: 'tls' }],
    ['relp', { type: 'relp+tls', host: '', port: '2514' }],
    ['splunk', { type: 'splunk_hec', url: '', token: '', index: '' }],
    ['elasticsearch', { type: 'elasticsearch', url: '', api_key: '', index: '' }],
    ['mail', { type: 'smtp', host: '', port: '587', from: '', to: '', 'auth.user': '', 'auth.password': '' }],
    ['kafka', { type: 'kafka', topic: '' }],
    ['slack', { type: 'chat', service: 'slack', url: '', 'filter.rule_alerts': 'only' }],
    ['teams', { type: 'chat', service: 'teams', url: '', 'filter.rule_alerts': 'only' }],
  ])('begins with what is usual for %s', async (product, usual) => {
    const { fields, more, page } = await form(`add/${product}`);
    expect(fields).toEqual({ ...common, name: product, ...usual });
    expect(more).toBe(product === 'kafka' ? 'brokers:\n  - kafka.example:9093\ntls: {}' : '');
    expect(page).toContain('data-action="/destinations"');
  });

  it('has all options of a destination but its credentials, and changes what was entered alone', async () => {
    const token = 'a-token-of-splunk';
    await admin.post('/destinations', {
      name: 'splunk',
      type: 'splunk_hec',
      url: 'https://splunk.example:8088',
      token,
      tls: { server_name: 'siem.example' },
      filter: { search: 'user:ann', rule_alerts: 'named' },
      more: 'filter: { families: [audit] }\nurl: https://other.example',
    });
    const { fields, more, page } = await form('splunk/edit');
    expect(fields).toEqual({
      type: 'splunk_hec',
      name: 'splunk',
      url: 'https://splunk.example:8088',
      token: '',
      index: '',
      format: '',
      'filter.search': 'user:ann',
      'filter.rule_alerts': 'named',
    });
    expect(more).toBe('tls:\n  server_name: siem.example\nfilter:\n  families:\n    - audit');
    expect(page).toMatch(/name="token"[^>]*placeholder="unchanged"/);
    expect(page).not.toContain(token);
    expect((await form('add/splunk')).fields).toMatchObject({ name: 'splunk-2' });
    expect(factsIn(await admin.page('/destinations/splunk'))).toMatchObject({ 'Defined in': 'the console' });
    await expect(form('archive/edit')).rejects.toThrow('answered 404');
    await expect(form('add/nothing')).rejects.toThrow('answered 404');
  });
});
