import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { idsOf, manualClock, onlineDevice, startEmulator } from './harness.ts';
import type { Call } from './harness.ts';

const SCALE = { devices: 20, clients: 60, users: 10 };

async function deviceOf(
  call: Call,
  id: number | string,
  query = 'views=full',
): Promise<Record<string, unknown>> {
  return z.record(z.string(), z.unknown()).parse((await call('GET', `/devices/${id}?${query}`)).body);
}

describe('management status', () => {
  it.each([
    ['/devices/:unmanage', 'UNMANAGED', true],
    ['/devices/:manage', 'MANAGED', true],
    ['/devices/{id}/:unmanage', 'UNMANAGED', false],
    ['/devices/{id}/:manage', 'MANAGED', false],
  ])('%s sets %s from any state', async (path, state, isList) => {
    const { call } = await startEmulator();
    const [id = '', other = ''] = await idsOf(call, '/devices');
    for (const before of ['manage', 'unmanage']) {
      await call('POST', `/devices/${id}/:${before}`);
      const options = isList ? { body: { ids: [id] } } : {};
      expect((await call('POST', path.replace('{id}', String(id)), options)).status).toBe(200);
      expect(await deviceOf(call, id, 'views=status')).toMatchObject({ device_admin_state: state });
    }
    expect(await deviceOf(call, other, 'views=status')).toMatchObject({ device_admin_state: 'MANAGED' });
  });
});

describe('commands', () => {
  it('are answered by each device for each command, also by those that cannot run them', async () => {
    const { call } = await startEmulator({ scale: SCALE });
    const ids = await idsOf(call, '/devices');
    const [unmanaged] = ids;
    await call('POST', `/devices/${unmanaged}/:unmanage`);
    const answer = await call('POST', '/devices/:cli', { body: { devices: { ids }, clis: ['one', 'two'] } });
    const outputs = z
      .object({
        device_cli_outputs: z.record(
          z.string(),
          z.array(z.object({ cli: z.string(), response_code: z.string() })),
        ),
      })
      .parse(answer.body).device_cli_outputs;
    expect(Object.keys(outputs).toSorted()).toEqual(ids.map(String).toSorted());
    for (const answers of Object.values(outputs))
      expect(answers.map(({ cli }) => cli)).toEqual(['one', 'two']);
    const codes = Object.values(outputs).map(([first]) => first?.response_code);
    expect(new Set(codes)).toEqual(new Set(['SUCCEED', 'ERR_DEVICE_NOT_ACTIVE', 'ERR_UNMANAGED_DEVICE']));
  });
});

describe('a device', () => {
  it('is onboarded, found in the list and deleted', async () => {
    const { call } = await startEmulator();
    const before = await idsOf(call, '/devices');
    expect((await call('POST', '/devices/:onboard', { body: { extreme: { sns: ['A', 'B'] } } })).status).toBe(
      202,
    );
    const onboarded = (await idsOf(call, '/devices')).filter((id) => !before.includes(id));
    expect(onboarded).toHaveLength(2);
    expect(await deviceOf(call, onboarded[0] ?? '')).toMatchObject({ serial_number: 'A', location_id: null });
    expect((await call('POST', '/devices/:delete', { body: { ids: onboarded } })).status).toBe(200);
    expect(await idsOf(call, '/devices')).toEqual(before);
    expect((await call('POST', '/devices/:onboard', { body: {} })).status).toBe(400);
  });

  it('is put into a location, found there, and taken out', async () => {
    const { call } = await startEmulator();
    const ids = (await idsOf(call, '/devices')).slice(0, 2);
    const [id = ''] = ids;
    const location_id = (await deviceOf(call, ids[1] ?? ''))['location_id'];
    await call('DELETE', `/devices/${id}/location`);
    expect((await call('GET', `/devices/${id}/location`)).status).toBe(404);
    expect(await deviceOf(call, id, 'views=location')).toMatchObject({ location_id: null, locations: [] });
    await call('PUT', `/devices/${id}/location`, { body: { location_id, x: 3, y: 4 } });
    expect((await call('GET', `/devices/${id}/location`)).body).toMatchObject({ location_id, x: 3, y: 4 });
    expect(await deviceOf(call, id, 'views=location')).toMatchObject({
      location_id,
      locations: [{}, {}, {}],
    });
    expect((await call('PUT', `/devices/${id}/location`, { body: { location_id: 1 } })).status).toBe(404);

    await call('POST', '/devices/location/:revoke', { body: { ids } });
    expect((await call('POST', '/devices/location/:query', { body: { ids } })).body).toEqual({});
    const device_location = { location_id, x: 7, y: 8 };
    await call('POST', '/devices/location/:assgin', { body: { devices: { ids }, device_location } });
    const queried = await call('POST', '/devices/location/:query', { body: { ids } });
    expect(queried.body).toMatchObject(Object.fromEntries(ids.map((each) => [each, device_location])));
  });

  it('follows a network policy, and tells its SSIDs by radio', async () => {
    const { call } = await startEmulator();
    const id = await onlineDevice(call);
    const policy = z
      .looseObject({ id: z.int(), name: z.string() })
      .parse((await call('GET', `/devices/${id}/network-policy`)).body);
    await call('DELETE', `/devices/${id}/network-policy`);
    expect((await call('GET', `/devices/${id}/network-policy`)).status).toBe(404);
    expect((await call('GET', `/devices/${id}/ssid/status`)).body).toEqual({});
    await call('PUT', `/devices/${id}/network-policy?networkPolicyId=${policy.id}`);
    expect(await deviceOf(call, id)).toMatchObject({
      network_policy_id: policy.id,
      network_policy_name: policy.name,
    });
    const status = await call('GET', `/devices/${id}/ssid/status`);
    const [ssid = ''] = Object.keys(z.record(z.string(), z.unknown()).parse(status.body));
    const change = { ssid_ids: [Number(ssid)], if_names: ['WIFI1'], enabled: false };
    await call('POST', `/devices/${id}/ssid/status/:change`, { body: change });
    expect((await call('GET', `/devices/${id}/ssid/status`)).body).toMatchObject({
      [ssid]: { wifi0_enabled: true, wifi1_enabled: false },
    });
    expect((await call('PUT', `/devices/${id}/network-policy?networkPolicyId=1`)).status).toBe(404);
    expect((await call('POST', `/devices/${id}/ssid/:override`, { body: { ssid_id: 1 } })).status).toBe(404);
  });

  it('changes its host name, its country and its time of connection', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    const id = await onlineDevice(call);
    await clock.advance(60_000);
    await call('PUT', `/devices/${id}/hostname?hostname=renamed`);
    await call('POST', '/devices/country-code/:assign', {
      body: { devices: { ids: [id] }, country_code: 276 },
    });
    await call('POST', `/devices/${id}/:reboot`);
    const device = await deviceOf(call, id, 'views=full&fields=country_code');
    expect(device).toMatchObject({ hostname: 'renamed', country_code: 276 });
    expect(device).toMatchObject({ last_connect_time: '2026-01-15T12:01:00.000+0000' });
    expect((await call('PUT', `/devices/${id}/hostname`)).status).toBe(400);
  });

  it('cannot be reset while it is offline, and has an alarm that says so', async () => {
    const { call } = await startEmulator({ scale: SCALE });
    const status = z.object({ data: z.array(z.object({ id: z.int(), connected: z.boolean() })) });
    const listed = status.parse((await call('GET', '/devices?views=status&fields=id&limit=100')).body).data;
    const offline = listed.find(({ connected }) => !connected)?.id;
    expect((await call('POST', `/devices/${offline}/:reset`)).status).toBe(503);
    expect((await call('GET', `/devices/${offline}/alarms`)).body).toMatchObject({
      pagination: { total: 1 },
      data: [{ entity_id: offline, severity: 'CRITICAL' }],
    });
    expect((await call('GET', `/devices/${offline}/alarms?startTime=1&endTime=2`)).body).toMatchObject({
      data: [],
    });
  });

  it('tells its load by the hour, the same at every asking', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    const path = `/devices/${await onlineDevice(call)}/history/cpu-mem`;
    const first = z
      .array(z.object({ timestamp: z.int(), average_cpu: z.int().max(100) }))
      .parse((await call('GET', path)).body);
    expect(first).toHaveLength(25);
    expect((await call('GET', path)).body).toMatchObject(first);
    const hour = `?startTime=${clock.now() - 3_600_000}&endTime=${clock.now()}`;
    expect((await call('GET', path + hour)).body).toHaveLength(2);
  });

  it('that is deleted leaves its clients off the network', async () => {
    const { call } = await startEmulator({ scale: SCALE });
    const clients = z.object({ data: z.array(z.object({ id: z.int(), device_id: z.int() })) });
    const { data } = clients.parse((await call('GET', '/clients/active?fields=id,device_id')).body);
    await call('DELETE', `/devices/${data[0]?.device_id}`);
    const client = await call('GET', `/clients/${data[0]?.id}?views=status`);
    expect(client.body).toMatchObject({ connected: false });
    expect(await idsOf(call, '/clients/active')).not.toContain(data[0]?.id);
  });
});
