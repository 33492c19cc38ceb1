import { z } from 'zod';
import { idSchema } from './shared.ts';

/** Answer of `GET /account/home` (published description; the specification shows no members). */
export const homeAccountSchema = z.looseObject({
  id: idSchema.nullish(),
  name: z.string().nullish(),
  account_type: z.string().nullish(),
  account_mode: z.string().nullish(),
  quota: z.string().nullish(),
  data_center: z.string().nullish(),
  industry: z.string().nullish(),
  country: z.string().nullish(),
  state: z.string().nullish(),
  city: z.string().nullish(),
  address: z.string().nullish(),
  zipcode: z.string().nullish(),
  create_time: z.string().nullish(),
  update_time: z.string().nullish(),
});

/** Answer of `GET /account/viq` (published description; the specification shows no members); `standalone` is false if HIQ is enabled. */
export const viqInfoSchema = z.looseObject({
  vhm_id: idSchema.nullish(),
  owner_id: idSchema.nullish(),
  customer_id: idSchema.nullish(),
  devices: z.int().nullish(),
  standalone: z.boolean().nullish(),
  expired: z.boolean().nullish(),
  licenses: z.array(z.unknown()).nullish(),
});

export type ViqInfo = z.output<typeof viqInfoSchema>;
