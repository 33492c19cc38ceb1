import { z } from 'zod';
import { CLIENT_VIEWS } from './client-views.ts';
import { visibleTo } from '../access/visibility.ts';
import type { Dialect } from '../dialects.ts';
import { found } from '../http/errors.ts';
import { int64, int64Path } from '../http/int64.ts';
import { createSelection, pageOf, pageQuery } from '../http/query.ts';
import { object, page, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { clientAddress } from '../world/clients.ts';
import type { Client } from '../world/clients.ts';
import { pathTo } from '../world/locations.ts';
import { timestamp } from '../world/seeding.ts';
import type { World } from '../world/world.ts';

type ClientField = (typeof CLIENT_VIEWS)[keyof typeof CLIENT_VIEWS][number];

const clientSchema = z.looseObject({ id: int64.optional() });

/** The members of a client that the vendor's schema requires, whatever is selected. */
const REQUIRED = ['create_time', 'update_time', 'org_id', 'location_id', 'device_id'];

/** The vendor's description has numbers for the kinds of device at a client, but does not list them. */
const DEVICE_FUNCTIONS = { AP: 1, SWITCH: 2 } as const;

/**
 * Clients with their views (specification, Dynamic response selection). The specification does not list these calls;
 * the two paths are those of the published interface.
 */
export function clientRoutes({ world, dialect }: { world: World; dialect: Dialect }): Route[] {
  const selection = createSelection(CLIENT_VIEWS, { dialect, required: REQUIRED });

  return [
    route('GET', '/clients/active', 'List online clients', {
      access: ['client:r'],
      input: z.object({ query: pageQuery().extend(selection.query) }),
      success: page(clientSchema),
      handle({ query }, caller) {
        const isVisible = visibleTo(world, caller);
        const active = [...world.clients.values()].filter(
          (client) => client.deviceId !== null && isVisible(orgOf(world, client)),
        );
        const { pagination, data } = pageOf(active, query);
        return { pagination, data: data.map((client) => selection.pick(clientRecord(world, client), query)) };
      },
    }),
    route('GET', '/clients/{id}', 'Get a client', {
      access: ['client:r'],
      input: z.object({ id: int64Path, query: z.object(selection.query) }),
      success: object(clientSchema),
      handle: ({ id, query }) =>
        selection.pick(clientRecord(world, found(world.clients.get(id), 'client', id)), query),
    }),
  ];
}

/** The organization of a client: that of its access point. */
function orgOf({ devices, account }: World, { deviceId }: Client): number {
  return devices.get(String(deviceId))?.orgId ?? account.creatingOrgId;
}

/** A client with all fields of all views. The numbers of enumerations (`auth`, `radio_type`) are invented. */
function clientRecord(world: World, client: Client): Record<ClientField | 'id', unknown> {
  const ap = client.deviceId === null ? undefined : world.devices.get(String(client.deviceId));
  const orgId = orgOf(world, client);
  const path = pathTo(world.locations, ap?.placement?.locationId ?? null);
  const online = ap !== undefined;
  return {
    id: client.id,
    create_time: timestamp(client.onlineAt),
    update_time: timestamp(online ? client.onlineAt : client.offlineAt),
    org_id: orgId,
    org_name: world.account.organizations.find(({ id }) => id === orgId)?.name ?? null,
    location_id: ap?.placement?.locationId ?? null,
    locations: path.map(({ id, name }) => ({ id, name })),
    hostname: client.hostname,
    mac_address: client.macAddress,
    ip_address: clientAddress(client),
    ipv6_address: `fd00:20::${(client.host + 1).toString(16)}`,
    os_type: client.os,
    device_id: client.deviceId,
    device_function: ap === undefined ? null : DEVICE_FUNCTIONS[ap.deviceFunction],
    device_name: ap?.hostname ?? null,
    device_mac_address: ap?.macAddress ?? null,
    username: client.username,
    user_profile_name: 'staff',
    connected: online,
    online_time: timestamp(client.onlineAt),
    offline_time: online ? null : timestamp(client.offlineAt),
    vlan: 20,
    connection_type: 1,
    ssid: client.ssid,
    port: null,
    bssid: ap?.macAddress ?? null,
    port_type_name: null,
    interface_name: 'wifi1',
    auth: 6,
    encryption_method: 2,
    channel: 36 + (client.host % 4) * 4,
    rssi: -50 - (client.host % 30),
    snr: 40 - (client.host % 30),
    wing_ap: false,
    vendor: client.vendor,
    radio_type: 5,
    mobility: 'MOBILE',
    category: 'Workstation',
    description: '',
    client_health: 100 - (client.host % 20),
    application_health: 95,
    network_health: 97,
    radio_health: 90,
  };
}
