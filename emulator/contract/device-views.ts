import { BASIC_DEVICE_MEMBERS } from '../../src/cloud/contract/device.ts';

/** The views of a device record and the fields each selects (specification, Dynamic response selection). */
export const DEVICE_VIEWS = {
  basic: BASIC_DEVICE_MEMBERS,
  status: ['device_admin_state', 'connected'],
  client: ['active_clients'],
  location: ['location_id', 'locations'],
  detail: [
    ...BASIC_DEVICE_MEMBERS,
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
