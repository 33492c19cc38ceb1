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

/** The members of the view `basic`. */
export const BASIC_DEVICE_MEMBERS = [
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

/** Those of a list with the view `location`, too: the published description requires the first four in every view. */
export const LISTED_DEVICE_MEMBERS = [
  'id',
  'create_time',
  'update_time',
  'location_id',
  'locations',
  ...BASIC_DEVICE_MEMBERS,
];
