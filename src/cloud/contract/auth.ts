import { z } from 'zod';
import { idSchema } from './shared.ts';

/** Answer of `POST /login`: a JWT and its lifetime in seconds. */
export const loginResponseSchema = z.looseObject({
  access_token: z.string().min(1),
  token_type: z.string().optional(),
  expires_in: z.number().nonnegative(),
});

/**
 * Answer of `GET /auth/apitoken/info`: the user and role of the token; `expires_in` in seconds. Roles are words in the
 * specification (`Administrator`), and enumerated values in the published description (`HELP_DESK`): see `isSameRole`.
 */
export const tokenInfoSchema = z.looseObject({
  user_id: idSchema,
  user_name: z.string(),
  role: z.string(),
  owner_id: idSchema,
  data_center: z.string().nullish(),
  scopes: z.array(z.string()),
  issued_at: z.string().nullish(),
  expiration_time: z.string().nullish(),
  expires_in: z.number().nullish(),
});

export type TokenInfo = z.output<typeof tokenInfoSchema>;

/** Whether two spellings mean the same role: `HELP_DESK` and `Help Desk`. */
export function isSameRole(one: string, other: string): boolean {
  const letters = (role: string) => role.toLowerCase().replaceAll(/[^a-z]/g, '');
  return letters(one) === letters(other);
}

/** A permission: an object (specification; published description of the check), or its name alone. */
export const permissionSchema = z.union([
  z.looseObject({
    name: z.string(),
    description: z.string().nullish(),
    category: z.string().nullish(),
  }),
  z.string().transform((name): { name: string; description?: string; category?: string } => ({ name })),
]);

export type Permission = z.output<typeof permissionSchema>;

/** Answer of `POST /auth/permissions/:check`: any one of these permissions, or of these roles, allows the call. */
export const permissionCheckResponseSchema = z.looseObject({
  permissions: z.array(permissionSchema),
  roles: z.array(z.string()).default([]),
});

export type PermissionCheckResponse = z.output<typeof permissionCheckResponseSchema>;
