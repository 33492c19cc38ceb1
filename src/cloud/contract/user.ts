import { z } from 'zod';
import { idSchema } from './shared.ts';

/**
 * A user of `GET /users`, who administers the account (published description, `XiqUser`; the specification shows no members).
 * Roles are spelled as in `tokenInfoSchema`.
 */
export const userSchema = z.looseObject({
  id: idSchema,
  login_name: z.string(),
  display_name: z.string().nullish(),
  first_name: z.string().nullish(),
  last_name: z.string().nullish(),
  user_role: z.string().nullish(),
});

export type User = z.output<typeof userSchema>;
