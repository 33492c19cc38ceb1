import { z } from 'zod';
import { DEVICE_VIEWS, deviceSchema } from '../src/cloud/contract/device.ts';
import { int64 } from './int64.ts';
import { createSelection } from './selection.ts';

/** `fields` and `views` of devices. */
export const deviceSelection = createSelection(DEVICE_VIEWS, ['country_code']);

/** A device as it is answered: always its identifier, else what was selected. */
export const deviceRecordSchema = deviceSchema.extend({ id: int64 });

/** A list of devices in a body; not shown in the specification, named as in the published interface. */
export const deviceList = z.looseObject({ ids: z.array(int64).min(1) });

/** Commands for devices. */
export const commands = z.array(z.string().min(1)).min(1);

/** What a device answered to each command. */
export const cliOutputs = z.object({
  device_cli_outputs: z.record(
    z.string(),
    z.array(z.object({ cli: z.string(), response_code: z.string(), output: z.string() })),
  ),
});

/** Where to put a device. */
export const placementRequest = z.looseObject({
  location_id: int64,
  x: z.number().optional(),
  y: z.number().optional(),
  latitude: z.number().optional(),
  longitude: z.number().optional(),
});

/** Where a device is. */
export const deviceLocation = z.object({
  location_id: int64,
  parent_id: int64.nullable(),
  location_name: z.string(),
  location_type: z.string(),
  location_unique_name: z.string(),
  x: z.number(),
  y: z.number(),
  latitude: z.number(),
  longitude: z.number(),
});
