import { z } from 'zod';
import { idSchema } from './shared.ts';

/** An organization of `GET /hiq/organizations` (published description, `XiqOrganization`; the specification names permissions alone). */
export const organizationSchema = z.looseObject({
  id: idSchema,
  name: z.string(),
  create_time: z.string().nullish(),
  update_time: z.string().nullish(),
  type: z.string().nullish(),
  org_id: idSchema.nullish(),
  color: z.string().nullish(),
});

export type Organization = z.output<typeof organizationSchema>;

/** Answer of `GET /hiq/context` (published description; the specification shows no members). */
export const hiqContextSchema = z.looseObject({
  reading_org_ids: z.array(idSchema).nullish(),
  creating_org_id: idSchema.nullish(),
});
