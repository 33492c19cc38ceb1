import { device, devices, first, listed, location, nothing, plus, policy, rows } from './endpoint-row.ts';
import type { Prepare } from './endpoint-row.ts';
import type { Call } from './call.ts';
import { onlineDevice } from './call.ts';

const placedDevice: Prepare = async (call) => {
  const id = await onlineDevice(call);
  await call('PUT', `/devices/${id}/location`, { body: { location_id: await location(call) } });
  return { id };
};
const configuredDevice: Prepare = async (call) => {
  const id = await onlineDevice(call);
  await call('PUT', `/devices/${id}/network-policy?networkPolicyId=${String((await policy(call)).id)}`);
  return { id };
};
const onSsid = async (call: Call) => ({ ssid_id: await first('/ssids')(call) });

/** Specification, Devices. */
export const deviceRows = rows('Devices', [
  ['GET /devices', 200, () => ({ query: 'views=basic,location&fields=hostname&async=false' })],
  ['POST /devices/:cli', 200, async (call) => ({ body: { devices: await devices(call), clis: ['show'] } })],
  ['POST /devices/:delete', 200, listed],
  ['POST /devices/:manage', 200, listed],
  ['POST /devices/:unmanage', 200, listed],
  ['POST /devices/:onboard', 202, () => ({ body: { extreme: { sns: ['12345678901234'] } } })],
  ['POST /devices/:reboot', 200, listed],
  [
    'POST /devices/country-code/:assign',
    200,
    async (call) => ({ body: { devices: await devices(call), country_code: 276 } }),
  ],
  ['GET /devices/{id}', 200, plus(device, () => ({ query: 'views=full' }))],
  ['DELETE /devices/{id}', 200, device],
  ['POST /devices/{id}/:cli', 200, plus(device, () => ({ body: ['show version'] }))],
  ['POST /devices/{id}/:manage', 200, device],
  ['POST /devices/{id}/:unmanage', 200, device],
  ['POST /devices/{id}/:reboot', 200, device],
  ['POST /devices/{id}/:reset', 200, device],
  ['GET /devices/{id}/alarms', 200, device],
  ['GET /devices/{id}/history/cpu-mem', 200, device],
  ['PUT /devices/{id}/hostname', 200, plus(device, () => ({ query: 'hostname=renamed' }))],
  ['GET /devices/{id}/location', 200, placedDevice],
  [
    'PUT /devices/{id}/location',
    200,
    plus(device, async (call) => ({ body: { location_id: await location(call), x: 1, y: 2 } })),
  ],
  ['DELETE /devices/{id}/location', 200, device],
  ['GET /devices/{id}/network-policy', 200, configuredDevice],
  [
    'PUT /devices/{id}/network-policy',
    200,
    plus(device, async (call) => ({ query: `networkPolicyId=${String((await policy(call)).id)}` })),
  ],
  ['DELETE /devices/{id}/network-policy', 200, device],
  ['POST /devices/{id}/ssid/:override', 200, plus(device, async (call) => ({ body: await onSsid(call) }))],
  ['GET /devices/{id}/ssid/status', 200, device],
  [
    'POST /devices/{id}/ssid/status/:change',
    200,
    plus(device, async (call) => ({
      body: { ssid_ids: [(await onSsid(call)).ssid_id], if_names: ['WIFI0'], enabled: false },
    })),
  ],
  [
    'POST /devices/location/:assgin',
    200,
    async (call) => ({
      body: { devices: await devices(call), device_location: { location_id: await location(call) } },
    }),
  ],
  ['POST /devices/location/:query', 200, listed],
  ['POST /devices/location/:revoke', 200, listed],
]);

/** Specification, Network policy. */
export const policyRows = rows('Network policy', [
  ['POST /network-policies', 201, () => ({ body: { name: 'new' } })],
  ['GET /network-policies/{id}', 200, policy],
  ['PUT /network-policies/{id}', 200, plus(policy, () => ({ body: { name: 'renamed' } }))],
  ['DELETE /network-policies/{id}', 200, policy],
  ['GET /network-policies/{id}/ssids', 200, policy],
  ['GET /ssids', 200, nothing],
]);
