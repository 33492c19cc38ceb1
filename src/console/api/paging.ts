import { z } from 'zod';
import { parsedText } from './parameters.ts';

export interface PageOf<Item> {
  readonly items: Item[];
  /** Null on the last page. */
  readonly next_cursor: string | null;
}

/**
 * The page of a list of which one more item than the limit was read: that one shows whether there is a next page,
 * which starts after the last item of this one.
 */
export function pageOf<Item>(
  found: readonly Item[],
  limit: number,
  cursorAfter: (last: Item) => string,
): PageOf<Item> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next_cursor: found.length > limit && last !== undefined ? cursorAfter(last) : null };
}

/** The schema of a page, as the API answers it. */
export const pageSchema = <Item extends z.ZodType>(item: Item) =>
  z.object({
    items: z.array(item),
    next_cursor: z.string().nullable().describe('cursor of the next page; null on the last page'),
  });

/** The schema of a list that is answered whole, as a page that is the last one. */
export const wholeSchema = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next_cursor: z.null() });

export const whole = <Item>(items: Iterable<Item>) => ({ items: [...items], next_cursor: null });

/** A cursor as a query parameter; `read` returns the position, or undefined if the text is not a cursor. */
export const cursorParameter = <Place>(read: (text: string) => Place | undefined) =>
  parsedText(read, 'must be a next_cursor from an earlier page')
    .optional()
    .describe('next_cursor of the previous page');

/** Encodes a position in a list as an opaque cursor. */
export function writeCursor(place: Readonly<Record<string, unknown>>): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** A cursor that `writeCursor` made, as a query parameter. */
export const cursorOf = <Place extends z.ZodType>(place: Place) =>
  cursorParameter((text): z.output<Place> | undefined => place.safeParse(readJson(text)).data);

function readJson(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}
