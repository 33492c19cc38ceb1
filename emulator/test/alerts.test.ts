import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { alertSubscription, SPAN } from './alert-rows.ts';
import type { Call } from './harness.ts';
import { manualClock, startEmulator, startReceiver } from './harness.ts';

const alertSchema = z.looseObject({
  id: z.string(),
  timestamp: z.string(),
  summary: z.string(),
  severity_id: z.int(),
  category_id: z.int(),
  message_metadata_id: z.int(),
  source: z.looseObject({ source_name: z.string() }),
  alert_policy_id: z.int(),
  alert_rule_id: z.int(),
  site_id: z.int(),
});
const pageSchema = z.object({ total_count: z.int(), data: z.array(alertSchema) });
const subscriptions = '/alert-subscriptions/webhooks';

async function alerts(call: Call, query = '') {
  const answer = await call('GET', `/alerts?limit=100&${SPAN}${query}`);
  expect(answer).toMatchObject({ status: 200 });
  return pageSchema.parse(answer.body).data;
}

async function withAlerts(count = 60) {
  const setup = await startEmulator({ dialect: 'vendor', scale: { devices: 40, clients: 10, users: 5 } });
  setup.emulator.happen('ALERT', count);
  return { ...setup, all: await alerts(setup.call) };
}

describe('the list of alerts', () => {
  it('has alerts that come, and others that clear them', async () => {
    const { all } = await withAlerts();
    expect(all).toHaveLength(60);
    expect(new Set(all.map(({ severity_id: id }) => id))).toEqual(new Set([1, 2, 3]));
    const raised = all.findIndex(({ summary }) => summary.startsWith('CPU usage high'));
    const place = all[raised]?.source.source_name;
    expect(all.slice(raised).map(({ summary }) => summary)).toContain(`CPU usage normal at ${place}`);
  });

  it('is filtered, sorted and searched', async () => {
    const { call, all } = await withAlerts();
    const ids = (list: typeof all) => list.map(({ id }) => id);
    const bySeverity = await alerts(call, '&severityIds=1&severityIds=3');
    expect(ids(bySeverity)).toEqual(ids(all.filter(({ severity_id: id }) => id !== 2)));
    const byCategory = await alerts(call, '&categoryIds=20&messageMetadataIds=201');
    expect(ids(byCategory)).toEqual(ids(all.filter(({ message_metadata_id: id }) => id === 201)));
    const [site] = all.map(({ site_id: id }) => id);
    expect(ids(await alerts(call, `&siteId=${site}`))).toEqual(
      ids(all.filter(({ site_id: id }) => id === site)),
    );
    expect(ids(await alerts(call, '&order=DESC'))).toEqual(ids(all).toReversed());
    const names = (await alerts(call, '&sortField=SOURCE')).map(({ source }) => source.source_name);
    expect(names).toEqual(names.toSorted());
    const rogue = await alerts(call, '&keyword=ROGUE');
    expect(ids(rogue)).toEqual(ids(all.filter(({ summary }) => summary.includes('Rogue'))));
    expect((await call('GET', '/alerts')).status).toBe(422);
  });

  it('has the alerts of a time range, both ends included, page by page', async () => {
    const clock = manualClock();
    const { call, emulator } = await startEmulator({
      clock,
      dialect: 'vendor',
      scale: { devices: 40, clients: 10, users: 5 },
    });
    const begin = clock.now();
    for (let minute = 0; minute < 8; minute += 1) {
      emulator.happen('ALERT');
      await clock.advance(60_000);
    }
    const read = async (query: string) => pageSchema.parse((await call('GET', `/alerts?${query}`)).body);
    const all = await read(`limit=100&startTime=${begin}&endTime=${clock.now()}`);
    expect(all.data).toHaveLength(8);
    const span = `startTime=${begin + 60_000}&endTime=${begin + 5 * 60_000}`;
    const pages = await Promise.all([1, 2, 3].map((page) => read(`limit=2&page=${page}&${span}`)));
    expect(pages.map(({ total_count: total }) => total)).toEqual([5, 5, 5]);
    expect(pages.map(({ data }) => data.length)).toEqual([2, 2, 1]);
    expect(pages.flatMap(({ data }) => data)).toEqual(all.data.slice(1, 6));
    expect((await call('GET', `/alerts?limit=101&${span}`)).status).toBe(422);
  });
});

describe('subscriptions to alerts', () => {
  it('get each alert of their policies as one object, with the members of the list', async () => {
    const clock = manualClock();
    const receiver = await startReceiver();
    const setup = {
      dialect: 'vendor',
      clock,
      rate: 20,
      scale: { devices: 40, clients: 10, users: 5 },
    } as const;
    const { call, emulator } = await startEmulator(setup);
    const { global_policy: global } = z
      .object({ global_policy: z.object({ id: z.int() }) })
      .parse((await call('GET', '/alert-policies')).body);
    const enabled = { ...alertSubscription, is_enabled: true, secret: 'alert-secret' };
    await call('POST', subscriptions, { body: { ...enabled, url: `${receiver.url}/all` } });
    const some = { is_subscribe_all: false, alert_policy_ids: [global.id], url: `${receiver.url}/global` };
    await call('POST', subscriptions, { body: { ...enabled, ...some } });
    await clock.advance(3000);
    await vi.waitFor(() => {
      expect(emulator.status().in_flight).toBe(0);
    });
    const got = (path: string) =>
      receiver.received.filter((delivery) => delivery.path === path).flatMap(({ records }) => records);
    expect(receiver.received.filter(({ isArray }) => isArray)).toEqual([]);
    expect(receiver.received[0]?.headers.authorization).toMatch(/^Basic /);
    const span = `startTime=${clock.now() - 60_000}&endTime=${clock.now()}`;
    const listed = pageSchema.parse((await call('GET', `/alerts?limit=100&${span}`)).body).data;
    const all = got('/all');
    expect(all.length).toBeGreaterThan(20);
    const sent = new Set(all.map(({ id }) => id));
    expect(listed.filter(({ id }) => sent.has(id))).toEqual(all);
    expect(got('/global').length).toBeGreaterThan(0);
    expect(new Set(got('/global').map((alert) => alert['alert_policy_id']))).toEqual(new Set([global.id]));
    expect(emulator.status().sent.ALERT.records).toBe(receiver.received.length);
  });

  it('are listed as an array, changed member by member, and deleted one by one or together', async () => {
    const { call } = await startEmulator({ dialect: 'vendor' });
    const ids: number[] = [];
    for (let made = 0; made < 3; made += 1) {
      const answer = await call('POST', subscriptions, { body: alertSubscription });
      ids.push(z.object({ id: z.int() }).parse(answer.body).id);
    }
    const [first, second, third] = ids;
    const changed = await call('PUT', `${subscriptions}/${first}`, {
      body: { is_enabled: true, alert_policy_ids: [] },
    });
    expect(changed.body).toMatchObject({ ...alertSubscription, id: first, is_enabled: true });
    expect((await call('PUT', `${subscriptions}/${first}`, { body: {} })).status).toBe(400);
    expect((await call('GET', subscriptions)).body).toMatchObject([changed.body, {}, {}]);
    expect((await call('DELETE', `${subscriptions}/${first}`)).status).toBe(200);
    expect((await call('GET', `${subscriptions}/${first}`)).status).toBe(404);
    const deletion = await call('POST', `${subscriptions}/:delete`, { body: { ids: [second, first] } });
    expect(deletion.body).toMatchObject({ result: 'PARTIAL_SUCCESS', unresolved_deletions: [{ ID: first }] });
    const later = await call('POST', `${subscriptions}/:delete?async=true`, { body: { ids: [third] } });
    expect([later.status, later.headers.has('location')]).toEqual([202, true]);
  });
});
