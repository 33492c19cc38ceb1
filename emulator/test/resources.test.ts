import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { idsOf, startEmulator } from './harness.ts';

const BEYOND_DOUBLES = '9223372036854775807';

const entity = z.looseObject({ id: z.int() });

describe('a resource whose shape is not stated', () => {
  it('keeps what it is given, replaces all of it, and is gone when deleted', async () => {
    const { call } = await startEmulator();
    const first = { name: 'one', nested: { list: [1, 'two', null, false] } };
    const put = await call('PUT', '/user-profiles/12', { body: first });
    expect(put.body).toEqual({ ...first, id: 12 });
    expect((await call('GET', '/user-profiles/12')).body).toEqual({ ...first, id: 12 });
    await call('PUT', '/user-profiles/12', { body: { name: 'two', id: 99 } });
    expect((await call('GET', '/user-profiles/12')).body).toEqual({ name: 'two', id: 12 });
    expect((await call('DELETE', '/user-profiles/12')).text).toBe('');
    expect((await call('GET', '/user-profiles/12')).status).toBe(404);
    expect((await call('DELETE', '/user-profiles/12')).status).toBe(404);
  });

  it('is kept apart from others of the same identifier', async () => {
    const { call } = await startEmulator();
    await call('PUT', '/radius-servers/internal/5', { body: { name: 'internal' } });
    expect((await call('GET', '/radius-servers/external/5')).status).toBe(404);
    expect((await call('PUT', '/radius-servers/external/5', { body: { name: 'external' } })).text).toBe('');
    expect((await call('GET', '/radius-servers/internal/5')).body).toMatchObject({ name: 'internal' });
    expect((await call('GET', '/radius-servers/external/5')).body).toMatchObject({ name: 'external' });
  });

  it('keeps every digit of an int64, in the path and in the body', async () => {
    const { call } = await startEmulator();
    const path = `/radio-profiles/${BEYOND_DOUBLES}`;
    await call('PUT', path, { raw: '{"parent_id":9007199254740993,"ratio":0.1}' });
    const { text } = await call('GET', path);
    expect(text).toContain(`"id":${BEYOND_DOUBLES}`);
    expect(text).toContain('"parent_id":9007199254740993');
    expect(text).toContain('"ratio":0.1');
    expect((await call('GET', '/radio-profiles/9223372036854775806')).status).toBe(404);
  });

  it.each(['[]', '"text"', '5', 'null'])('refuses a body that is no object: %s', async (raw) => {
    const { call } = await startEmulator();
    expect((await call('PUT', '/user-profiles/1', { raw })).status).toBe(400);
  });
});

describe('RADIUS and RADSEC proxies', () => {
  const realms = [{ id: 1 }, { name: 'example.test', enable_strip_realm_name: true }];

  it.each([
    ['/radsec-proxies/1', { name: 'a', format_type: 'NAI', realms }],
    [
      '/radius-proxies/1',
      {
        name: 'a',
        retry_count: 3,
        retry_delay: 5,
        dead_time: 300,
        clients: [{ id: 2 }, { shared_secret: 's', description: 'd', l3_address_profile_id: 3 }],
        realms,
      },
    ],
  ])('%s takes the members that are shown', async (path, body) => {
    const { call } = await startEmulator();
    expect((await call('PUT', path, { body })).body).toEqual({ ...body, id: 1 });
  });

  it.each([
    ['/radsec-proxies/1', { realms: [{ enable_strip_realm_name: true }] }],
    ['/radsec-proxies/1', { enable_inject_operator_name_attribute: 'yes' }],
    ['/radius-proxies/1', { retry_count: 'three' }],
    ['/radius-proxies/1', { clients: [{ description: 'without a secret' }] }],
    ['/radius-proxies/1', { realms: [{ id: 1, name: 'both' }] }],
  ])('%s refuses %j', async (path, body) => {
    const { call } = await startEmulator();
    expect((await call('PUT', path, { body })).status).toBe(400);
  });
});

describe('other configuration', () => {
  it('has one connection to a third party', async () => {
    const { call } = await startEmulator();
    const path = '/third-party-api-connection';
    expect((await call('GET', path)).body).toEqual([]);
    expect((await call('PUT', path, { body: { name: 'x' } })).body).toEqual({ name: 'x' });
    expect((await call('GET', path)).body).toEqual([{ name: 'x' }]);
    await call('DELETE', path);
    expect((await call('GET', path)).body).toEqual([]);
  });

  it('keeps the AFC schedule of each folder, and asks for both identifiers', async () => {
    const { call } = await startEmulator();
    const path = '/site/afc/schedule';
    await call('PUT', path, { body: { ownerId: 1, folderId: 2, at: 'night' } });
    await call('POST', path, { body: { owner_id: 1, folder_id: 3, at: 'noon' } });
    expect((await call('GET', `${path}?ownerId=1&folderId=2`)).body).toMatchObject({ at: 'night' });
    expect((await call('GET', `${path}?ownerId=1&folderId=3`)).body).toMatchObject({ at: 'noon' });
    expect((await call('GET', `${path}?ownerId=1&folderId=4`)).status).toBe(404);
    expect((await call('GET', `${path}?ownerId=1`)).status).toBe(400);
  });

  it('sets modes and passwords of SSIDs, and never answers the password', async () => {
    const { call } = await startEmulator();
    const [id] = await idsOf(call, '/ssids');
    const password = 'a very secret key';
    expect((await call('PUT', `/ssids/${id}/mode/psk`, { body: { hidden: true } })).body).toMatchObject({
      id,
      mode: 'psk',
      mode_settings: { hidden: true },
    });
    expect((await call('PUT', `/ssids/${id}/psk/password`, { body: password })).text).not.toContain(password);
    expect((await call('GET', '/ssids')).text).not.toContain(password);
    expect((await call('PUT', `/ssids/${id}/mode/open`)).body).toMatchObject({ mode: 'open' });
    expect((await call('PUT', `/ssids/${id}/psk/password`, { body: 'short' })).status).toBe(400);
    expect((await call('PUT', `/ssids/${id}/mode/wep`)).status).toBe(400);
    expect((await call('PUT', '/ssids/1/mode/open')).status).toBe(404);
  });

  it('creates, changes and deletes network policies, and tells the SSIDs of one', async () => {
    const { call } = await startEmulator();
    const body = { name: 'mine', anything: ['kept'] };
    const { id } = entity.parse((await call('POST', '/network-policies', { body })).body);
    expect((await call('GET', `/network-policies/${id}`)).body).toMatchObject(body);
    await call('PUT', `/network-policies/${id}`, { body: { name: 'changed' } });
    expect((await call('GET', `/network-policies/${id}`)).body).toMatchObject({ id, name: 'changed' });
    expect((await call('PUT', '/network-policies/1', { body })).status).toBe(404);
    await call('DELETE', `/network-policies/${id}`);
    expect((await call('GET', `/network-policies/${id}`)).status).toBe(404);
    const device = await call('GET', '/devices?views=full');
    const listed = z.object({ data: z.array(z.looseObject({ network_policy_id: z.int() })) });
    const policy = listed.parse(device.body).data[0]?.network_policy_id;
    const ssids = await call('GET', `/network-policies/${policy}/ssids`);
    const named = z.object({ data: z.array(z.looseObject({ broadcast_name: z.string() })).min(1) });
    expect(named.safeParse(ssids.body).error).toBeUndefined();
  });
});

describe('webhook subscriptions', () => {
  const one = { application: 'a', url: 'http://127.0.0.1:9/x', secret: 's', message_type: 'AUDIT_LOG_ALL' };
  const path = '/subscriptions/webhook';

  it('are enabled unless told otherwise, and may be made twice', async () => {
    const { call } = await startEmulator();
    await call('POST', path, {
      body: [one, { ...one, message_type: 'LOCATION_AP_CENTRIC', status: 'DISABLED' }],
    });
    await call('POST', path, { body: [one] });
    expect((await call('GET', path)).body).toMatchObject({
      pagination: { total: 3 },
      data: [
        { ...one, status: 'ENABLED', data_type: 'AUDIT_LOG' },
        { status: 'DISABLED', data_type: 'LOCATION' },
        { ...one, status: 'ENABLED' },
      ],
    });
  });

  it('are changed member by member', async () => {
    const { call } = await startEmulator();
    const created = z.array(entity).parse((await call('POST', path, { body: [one] })).body);
    const at = `${path}/${created[0]?.id}`;
    expect(
      (await call('PUT', at, { body: { secret: 'new', message_type: 'SMS_LOG_ALL' } })).body,
    ).toMatchObject({
      ...one,
      secret: 'new',
      message_type: 'SMS_LOG_ALL',
      data_type: 'SMS_LOG',
    });
    expect((await call('PUT', `${path}/1`, { body: one })).status).toBe(404);
    expect((await call('DELETE', at)).status).toBe(200);
    expect((await call('DELETE', at)).status).toBe(404);
  });

  it.each([[], {}, [{ ...one, url: 'ftp://127.0.0.1/' }], [{ ...one, message_type: 'ALL' }], [one, {}]])(
    'are all refused when one is wrong: %j',
    async (body) => {
      const { call } = await startEmulator();
      expect((await call('POST', path, { body })).status).toBe(400);
      expect((await call('GET', path)).body).toMatchObject({ pagination: { total: 0 } });
    },
  );
});
