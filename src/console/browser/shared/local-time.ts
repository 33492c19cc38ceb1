// Times in the time zone of the reader. The server renders with it too, so this module must not access the page.

const formats: Map<string, Intl.DateTimeFormat> = new Map();

function formatOf(zone: string) {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  // Swedish dates and times are written as in ISO 8601, with a blank between them.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'medium',
  });
  formats.set(zone, format);
  return format;
}

/** A time as `2026-01-31 08:00:00` in an IANA time zone. */
export function localText(time: Date | string | number, zone: string) {
  const date = new Date(time);
  return zone === 'UTC' ? date.toISOString().slice(0, 19).replace('T', ' ') : formatOf(zone).format(date);
}

/** A time as `2026-01-31 08:00:00.123` in an IANA time zone. */
export const exactText = (time: Date | string | number, zone: string) =>
  `${localText(time, zone)}.${new Date(time).toISOString().slice(20, 23)}`;

/** A time zone in one word, for headings: `Berlin`. */
export const zoneWord = (zone: string) => zone.slice(zone.lastIndexOf('/') + 1).replaceAll('_', ' ');

const LOCAL = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/;

/**
 * What a person entered as a time, with a local time made an instant in ISO 8601. Anything else (how long ago, a time
 * with an offset) stays as it is.
 */
export function instantOf(text: string, zone: string) {
  if (!LOCAL.test(text)) return text;
  const local = Date.parse(`${text.replace(' ', 'T')}${text.length > 10 ? 'Z' : ''}`);
  if (Number.isNaN(local)) return text;
  // The offset at a time that is off by the offset may be another one: the second step is right.
  let instant = local;
  for (let step = 0; step < 2; step += 1) instant = local - offsetAt(instant, zone);
  return new Date(instant).toISOString();
}

const offsetAt = (instant: number, zone: string) => {
  const whole = instant - (((instant % 1000) + 1000) % 1000);
  return Date.parse(`${localText(instant, zone).replace(' ', 'T')}Z`) - whole;
};
