import { z } from 'zod';

/**
 * An identifier of the cloud (an int64 on the wire) as text. It is exact even beyond 2^53, where the JSON reader returns
 * the digits instead of a rounded number.
 */
export const idSchema = z.union([z.int(), z.string().min(1)]).transform(String);

/** A page as in the specification: `pagination.total` counts the items of all pages. */
export function nestedPageSchema<Item extends z.ZodType>(item: Item) {
  return z.looseObject({ pagination: z.looseObject({ total: z.int().nonnegative() }), data: z.array(item) });
}

/** A page as in the published interface: pages count from 1, `count` is the size of this page; `data` is optional there. */
export function flatPageSchema<Item extends z.ZodType>(item: Item) {
  return z.looseObject({
    page: z.int().nullish(),
    count: z.int().nullish(),
    total_pages: z.int().nullish(),
    total_count: z.int().nullish(),
    data: z.array(item).optional(),
  });
}

/** The forms of a list, and where each is documented. The client reads all of them from every list call. */
export const LIST_FORMS = {
  'bare array':
    'specification; published description of alert subscriptions, and of webhook subscriptions until 25.1',
  page: 'published description of logs and alerts; SDK for webhook subscriptions',
  'array of pages': 'published description of webhook subscriptions since 25.2',
  'page with pagination': 'specification',
} as const;

export type ListForm = keyof typeof LIST_FORMS;

/** The current error body (specification, Error body). For a revoked token it contains only code and id. */
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

/** The `error_code` of the 401 for a revoked token. */
export const AUTH_TOKEN_REVOKED = 'AUTH_TOKEN_REVOKED';
