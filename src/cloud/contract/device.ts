import { z } from 'zod';
import { idSchema } from './id.ts';

/**
 * A device record. Which members it has depends on the views and fields asked for, and their types are not shown, so
 * only the identifiers are read closely.
 */
export const deviceSchema = z.looseObject({
  id: idSchema.optional(),
  org_id: idSchema.nullish(),
  location_id: idSchema.nullish(),
  network_policy_id: idSchema.nullish(),
});

export type Device = z.output<typeof deviceSchema>;
