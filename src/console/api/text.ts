import { z } from 'zod';

const text = z.string({ error: 'can be given only once' });

/** A text of limited length as a query parameter. */
export const shortText = (most: number) =>
  text
    .max(most, `must have at most ${most} characters`)
    // Postgres cannot store this character.
    .refine((value) => !value.includes('\0'), 'must not contain the character U+0000');

/** A query parameter that `read` makes of a text; undefined from it means that the text is wrong, and `message` says why. */
export const parsedText = <Value>(read: (value: string) => Value | undefined, message: string) =>
  text.transform((value, context): Value => {
    const parsed = read(value);
    if (parsed !== undefined) return parsed;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
