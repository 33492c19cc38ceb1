import { z } from 'zod';
import { idSchema } from './shared.ts';

/** Body of `POST /login`. */
export const loginRequestSchema = z.object({ username: z.string(), password: z.string() });

/** Answer of `POST /login`: a JWT and its lifetime in seconds. */
export const loginResponseSchema = z.looseObject({
  access_token: z.string().min(1),
  token_type: z.string().optional(),
  expires_in: z.number().nonnegative(),
});

/** The shortest life of an API token, in seconds from the time of the request (specification, Limits). */
export const MIN_API_TOKEN_LIFETIME_S = 300;

/** Body of `POST /auth/apitoken`; `expire_time` in epoch seconds, null or absent for a token that never expires. */
export const createApiTokenRequestSchema = z.object({
  expire_time: z.int().nullish(),
  permissions: z.array(z.string()).optional(),
  description: z.string().nullish(),
});

/**
 * Answer of `POST /auth/apitoken`; times as `YYYY-MM-DDThh:mm:ss.SSS+0000`. Only the token is required: it is shown only
 * once and must not be lost because of another member.
 */
export const createdApiTokenSchema = z.looseObject({
  access_token: z.string().min(1),
  create_time: z.string().nullish(),
  expire_time: z.string().nullish(),
  creator_id: idSchema.nullish(),
  customer_id: idSchema.nullish(),
  description: z.string().nullish(),
  permissions: z.array(z.string()).nullish(),
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

/** Answer of `GET /auth/permissions`: a list (specification), or a text of their names (published description). */
export const permissionListSchema = z.union([
  z.array(permissionSchema),
  z.string().transform((names) =>
    names
      .split(/[\s,]+/)
      .filter(Boolean)
      .map((name): Permission => ({ name })),
  ),
]);

/** Body of `POST /auth/permissions/:check`: the call in question, with `method` in lower case as in the sample. */
export const permissionCheckRequestSchema = z.object({ uri: z.string(), method: z.string() });

export type PermissionCheckRequest = z.output<typeof permissionCheckRequestSchema>;

/** Answer of `POST /auth/permissions/:check`: any one of these permissions, or of these roles, allows the call. */
export const permissionCheckResponseSchema = z.looseObject({
  permissions: z.array(permissionSchema),
  roles: z.array(z.string()).default([]),
});

export type PermissionCheckResponse = z.output<typeof permissionCheckResponseSchema>;
