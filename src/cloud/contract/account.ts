import { z } from 'zod';
import { idSchema } from './shared.ts';

/** Answer of `GET /account/home`; the specification shows no members, so these are the published ones that we use. */
export const homeAccountSchema = z.looseObject({
  id: idSchema.nullish(),
  name: z.string().nullish(),
  account_type: z.string().nullish(),
  account_mode: z.string().nullish(),
  quota: z.string().nullish(),
  data_center: z.string().nullish(),
});

export type HomeAccount = z.output<typeof homeAccountSchema>;

/** Answer of `GET /account/viq`; `standalone` is false if HIQ is enabled. */
export const viqInfoSchema = z.looseObject({
  vhm_id: idSchema.nullish(),
  owner_id: idSchema.nullish(),
  customer_id: idSchema.nullish(),
  devices: z.int().nullish(),
  standalone: z.boolean().nullish(),
  expired: z.boolean().nullish(),
});

export type ViqInfo = z.output<typeof viqInfoSchema>;
