import { z } from 'zod';
import { idSchema } from './id.ts';

/** The shortest life of an API token, in seconds from the time of the request (specification, Limits). */
export const MIN_API_TOKEN_LIFETIME_S = 300;

/** Body of `POST /auth/apitoken`; `expire_time` in epoch seconds, null or absent for a token without end. */
export const createApiTokenRequestSchema = z.object({
  expire_time: z.int().nullish(),
  permissions: z.array(z.string()).optional(),
  description: z.string().nullish(),
});

export type CreateApiTokenRequest = z.output<typeof createApiTokenRequestSchema>;

/**
 * Answer of `POST /auth/apitoken`; times as `YYYY-MM-DDThh:mm:ss.SSS+0000`. Only the token is demanded: it is shown
 * this once and must not be lost over another member.
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

export type CreatedApiToken = z.output<typeof createdApiTokenSchema>;

/** Answer of `GET /auth/apitoken/info`: who the presented token speaks for; `expires_in` in seconds. */
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
