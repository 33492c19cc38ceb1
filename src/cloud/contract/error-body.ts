import { z } from 'zod';

/** The error body in use today (specification, Error body); a revoked token's carries code and id only. */
export const errorBodySchema = z.looseObject({
  error_code: z.string(),
  error_id: z.string().nullish(),
  error_message: z.string().nullish(),
  error_message_code: z.string().nullish(),
  error_message_description: z.string().nullish(),
});

/** The older documented error body: other names for the same three meanings. */
export const legacyErrorBodySchema = z.looseObject({
  error: z.string(),
  uuid: z.string().nullish(),
  message: z.string().nullish(),
});

/** `error_code` of the 401 that answers a token which was logged out. */
export const AUTH_TOKEN_REVOKED = 'AUTH_TOKEN_REVOKED';
