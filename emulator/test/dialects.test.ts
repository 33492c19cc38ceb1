import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createCall, logIn, startEmulator } from './harness.ts';
import type { Call } from './harness.ts';

const one = {
  application: 'a',
  url: 'http://127.0.0.1:9/x',
  secret: 's',
  message_type: 'AUDIT_LOG_ALL',
  status: 'ENABLED',
};
const path = '/subscriptions/webhook';
const flatPage = z.strictObject({
  page: z.int(),
  count: z.int(),
  total_pages: z.int(),
  total_count: z.int(),
  data: z.array(z.looseObject({ id: z.int() })),
});

/** The identifiers of all subscriptions, in the form of each dialect. */
async function subscriptionIds(call: Call): Promise<number[]> {
  const { body } = await call('GET', path);
  const page = z.union([z.tuple([flatPage]).transform(([first]) => first), flatPage]).parse(body);
  return page.data.map(({ id }) => id);
}

describe.each(['vendor', 'sdk'] as const)('the dialect %s', (dialect) => {
  it('has flat pages', async () => {
    const { call } = await startEmulator({ dialect });
    const { body } = await call('GET', '/devices?limit=4&page=3');
    expect(flatPage.parse(body)).toMatchObject({ page: 3, count: 2, total_pages: 3, total_count: 10 });
  });

  it('creates and deletes subscriptions with 202 and no body, in one of two ways', async () => {
    const { call } = await startEmulator({ dialect });
    const created = await call('POST', path, { body: [one, one, one] });
    expect([created.status, created.text]).toEqual([202, '']);
    const [first, second, third] = await subscriptionIds(call);
    const deleted = await call('DELETE', `${path}/${first}`);
    expect([deleted.status, deleted.text]).toEqual([202, '']);
    expect((await call('DELETE', `${path}/:delete?ids=${second}&ids=${third}`)).status).toBe(202);
    expect(await subscriptionIds(call)).toEqual([]);
  });

  it('answers a query beyond its limits with 422, and another bad request with 400', async () => {
    const { call } = await startEmulator({ dialect });
    expect((await call('GET', '/devices?limit=101')).status).toBe(422);
    expect((await call('GET', '/devices?views=basic')).status).toBe(422);
    expect((await call('GET', '/devices?views=BASIC,STATUS')).status).toBe(422);
    expect((await call('GET', '/logs/audit')).status).toBe(422);
    expect((await call('POST', path, { body: [{}] })).status).toBe(400);
  });

  it('selects by names in upper case, repeated, and always includes the members that the vendor requires', async () => {
    const { call } = await startEmulator({ dialect });
    const { body } = await call('GET', '/devices?limit=1&views=STATUS&views=CLIENT&fields=HOSTNAME');
    expect(Object.keys(flatPage.parse(body).data[0] ?? {}).toSorted()).toEqual([
      'active_clients',
      'connected',
      'create_time',
      'device_admin_state',
      'hostname',
      'id',
      'location_id',
      'org_id',
      'update_time',
    ]);
  });

  it('has no member that is null', async () => {
    const { call } = await startEmulator({ dialect });
    for (const list of ['/devices?views=FULL', '/clients/active?views=FULL', '/endusers']) {
      expect((await call('GET', list)).text).not.toContain('null');
    }
  });
});

it('lists subscriptions as an array of pages for the vendor, as one page for the SDK, as specified else', async () => {
  const lists = await Promise.all(
    (['vendor', 'sdk', 'spec'] as const).map(async (dialect) => {
      const { call } = await startEmulator({ dialect });
      await call('POST', path, { body: [one] });
      return (await call('GET', path)).body;
    }),
  );
  expect(lists).toMatchObject([
    [{ page: 1, count: 1, total_pages: 1, total_count: 1, data: [one] }],
    { page: 1, count: 1, total_pages: 1, total_count: 1, data: [one] },
    { pagination: { total: 1 }, data: [one] },
  ]);
});

describe('an account', () => {
  it('that a user switched to has nothing of the home account', async () => {
    const { url, call } = await startEmulator();
    const external = z
      .array(z.object({ id: z.int() }))
      .parse((await call('GET', '/account/external')).body)[0];
    const switched = await call('POST', `/account/:switch?id=${external?.id}`);
    const { access_token: token } = z.object({ access_token: z.string() }).parse(switched.body);
    const there = createCall(url, token);
    expect((await there('GET', '/account/viq')).body).toMatchObject({ owner_id: external?.id, devices: 0 });
    for (const list of ['/devices', '/clients/active', '/users', '/endusers', '/ssids', '/logs/auth', path]) {
      expect((await there('GET', list)).body).toMatchObject({ pagination: { total: 0 } });
    }
    const home = createCall(url, await logIn(url, 'administrator'));
    expect((await home('GET', '/devices')).body).toMatchObject({ pagination: { total: 10 } });
  });

  it('shows only the organizations that its context reads', async () => {
    const { call } = await startEmulator();
    const ids = z.array(z.int()).parse((await call('GET', '/hiq/context/reading')).body);
    await call('PUT', '/hiq/context/creating', { body: ids[1] });
    await call('POST', '/endusers', { body: { user_name: 'of.the.second' } });
    await call('PUT', '/hiq/context/reading', { body: [ids[1]] });
    expect((await call('GET', '/endusers')).body).toMatchObject({
      pagination: { total: 1 },
      data: [{ user_name: 'of.the.second', org_id: ids[1] }],
    });
    expect((await call('GET', '/devices')).body).toMatchObject({ pagination: { total: 0 } });
    expect((await call('PUT', '/hiq/context/reading', { body: [1] })).status).toBe(400);
    await call('PUT', '/hiq/context/reading', { body: [] });
    expect((await call('GET', '/devices')).body).toMatchObject({ pagination: { total: 10 } });
  });
});
