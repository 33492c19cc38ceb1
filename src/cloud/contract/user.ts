import { z } from 'zod';
import { idSchema } from './shared.ts';

/**
 * A user of `GET /users`, who administers the account (published description, `XiqUser`; the specification shows no members).
 * Roles are spelled as in `tokenInfoSchema`.
 */
export const userSchema = z.looseObject({
  id: idSchema,
  create_time: z.string().nullish(),
  update_time: z.string().nullish(),
  org_id: idSchema.nullish(),
  login_name: z.string(),
  display_name: z.string().nullish(),
  first_name: z.string().nullish(),
  last_name: z.string().nullish(),
  user_role: z.string().nullish(),
  idle_timeout: z.number().nullish(),
});

export type User = z.output<typeof userSchema>;
