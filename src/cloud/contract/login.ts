import { z } from 'zod';

/** Body of `POST /login`. */
export const loginRequestSchema = z.object({ username: z.string(), password: z.string() });

/** Answer of `POST /login`: a JWT and its lifetime in seconds. */
export const loginResponseSchema = z.looseObject({
  access_token: z.string().min(1),
  token_type: z.string().optional(),
  expires_in: z.number().nonnegative(),
});
