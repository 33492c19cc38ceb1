import { z } from 'zod';
import { idSchema } from './shared.ts';

/**
 * A device record. Its members depend on the requested views and fields, and their types are not documented, so only the
 * identifiers are validated.
 */
export const deviceSchema = z.looseObject({
  id: idSchema.optional(),
  org_id: idSchema.nullish(),
  location_id: idSchema.nullish(),
  network_policy_id: idSchema.nullish(),
});

/** A device of a list with the views `basic` and `location`. The identifier is always included. */
export const listedDeviceSchema = deviceSchema.extend({
  id: idSchema,
  mac_address: z.string().nullish(),
  serial_number: z.string().nullish(),
  hostname: z.string().nullish(),
  device_function: z.string().nullish(),
});

export type ListedDevice = z.output<typeof listedDeviceSchema>;

const BASIC = [
  'org_id',
  'serial_number',
  'service_tag',
  'mac_address',
  'simulated',
  'device_function',
  'product_type',
  'hostname',
  'ip_address',
  'software_version',
  'device_admin_state',
  'connected',
] as const;

/** The views of a device record and the fields each selects (specification, Dynamic response selection). */
export const DEVICE_VIEWS = {
  basic: BASIC,
  status: ['device_admin_state', 'connected'],
  client: ['active_clients'],
  location: ['location_id', 'locations'],
  detail: [
    ...BASIC,
    'create_time',
    'update_time',
    'last_connect_time',
    'primary_dns_server_address',
    'subnet_mask',
    'default_gateway',
    'ipv6_address',
    'ipv6_netmask',
    'display_version',
  ],
  full: [
    'create_time',
    'update_time',
    'org_id',
    'org_name',
    'location_id',
    'serial_number',
    'mac_address',
    'device_function',
    'product_type',
    'hostname',
    'ip_address',
    'software_version',
    'device_admin_state',
    'connected',
    'last_connect_time',
    'network_policy_name',
    'network_policy_id',
    'primary_ntp_server_address',
    'primary_dns_server_address',
    'subnet_mask',
    'default_gateway',
    'ipv6_address',
    'ipv6_netmask',
    'simulated',
    'display_version',
    'active_clients',
    'locations',
  ],
} as const;

/** A field of any device view. */
export type DeviceField = (typeof DEVICE_VIEWS)[keyof typeof DEVICE_VIEWS][number];
