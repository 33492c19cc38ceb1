import { z } from 'zod';

/** A page as the specification words it: `pagination.total` counts the items of all pages. */
export function nestedPageSchema<Item extends z.ZodType>(item: Item) {
  return z.looseObject({ pagination: z.looseObject({ total: z.int().nonnegative() }), data: z.array(item) });
}

/** A page as the published interface shows it; pages are counted from 1, `count` is the size of this page. */
export function flatPageSchema<Item extends z.ZodType>(item: Item) {
  return z.looseObject({
    page: z.int().nullish(),
    count: z.int().nullish(),
    total_pages: z.int().nullish(),
    total_count: z.int().nullish(),
    data: z.array(item),
  });
}
