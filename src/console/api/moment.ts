import { z } from 'zod';
import { isTimeZone, monthRange, parseTime } from '../../parse-time.ts';

const MESSAGE = 'must be a time such as 2026-01-31 08:00, or how long ago: 90m, 12h, 7d';

/** A point in time as a person writes it, since 1970: in UTC unless an offset is given, or how long ago. */
export const moment = z
  .string({ error: MESSAGE })
  .transform((text, context) => {
    const time = parseTime(text.trim(), new Date());
    if (time !== undefined && time.getTime() >= 0) return time;
    context.addIssue({ code: 'custom', message: MESSAGE });
    return z.NEVER;
  })
  .describe('ISO 8601, in UTC unless an offset is given; or how long ago: 90m, 12h, 7d');

/** A month of UTC as its range, by default this one. */
export const month = z
  .string()
  .default(() => new Date().toISOString().slice(0, 'YYYY-MM'.length))
  .transform((text, context) => {
    const range = monthRange(text);
    if (range === undefined) context.addIssue({ code: 'custom', message: 'must be a month such as 2026-03' });
    return range ?? z.NEVER;
  });

/** The name of a time zone. */
export const timeZone = z.string().refine(isTimeZone, 'must be an IANA time zone such as Europe/Berlin');

/** A point in time in an answer: ISO 8601 in UTC. */
export const isoTime = z
  .date()
  .transform((at) => at.toISOString())
  .pipe(z.string());
