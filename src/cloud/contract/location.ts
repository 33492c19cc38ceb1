import { z } from 'zod';
import { idSchema } from './shared.ts';

/**
 * A location of `GET /locations/tree` (published description, `XiqLocation`; the specification names the permission alone).
 * The types are not published as a list: buildings and floors are called so, in any case.
 */
export const locationSchema = z.looseObject({
  id: idSchema,
  name: z.string(),
  unique_name: z.string().nullish(),
  type: z.string().nullish(),
  parent_id: idSchema.nullish(),
  org_id: idSchema.nullish(),
  address: z.unknown().optional(),
  create_time: z.string().nullish(),
  update_time: z.string().nullish(),
  get children(): z.ZodOptional<z.ZodNullable<z.ZodArray<typeof locationSchema>>> {
    return z.array(locationSchema).nullish();
  },
});

export type Location = z.output<typeof locationSchema>;
