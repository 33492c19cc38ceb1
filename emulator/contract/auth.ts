import { z } from 'zod';
import { permissionSchema, type Permission } from '../../src/cloud/contract/auth.ts';
import { idSchema } from '../../src/cloud/contract/shared.ts';

/** Body of `POST /login`. */
export const loginRequestSchema = z.object({ username: z.string(), password: z.string() });

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
