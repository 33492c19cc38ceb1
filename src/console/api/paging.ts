import { z } from 'zod';

/** Writes where a page ended, as a text that nobody need read. */
export function writeCursor(place: Readonly<Record<string, unknown>>): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** Where a page begins, as an answer gave it: the `next_cursor` that `writeCursor` wrote. */
export function cursorOf<Place extends z.ZodType>(place: Place) {
  return z
    .string({ error: 'can be given once' })
    .transform((text, context): z.output<Place> => {
      const { data } = place.safeParse(readJson(text));
      if (data !== undefined) return data;
      context.addIssue({ code: 'custom', message: 'takes what an earlier page gave as next_cursor' });
      return z.NEVER;
    })
    .optional()
    .meta({ description: 'next_cursor of the page before' });
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
}
