const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

const TIME_UNITS = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3_600 },
  { name: 'min', seconds: 60 },
  { name: 's', seconds: 1 },
] as const;

const numbers = new Intl.NumberFormat('en');

/** A whole number with thousands separators: `32,260`. */
export const formatCount = (count: number): string => numbers.format(count);

/** A count with its noun, in the singular for one: `1 event`, `2,000 deliveries`. */
export function countOf(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}

/** A size in the largest unit that it fills (1 KiB is 1,024 bytes): `512 bytes`, `3.2 GiB`. */
export function formatBytes(bytes: number): string {
  const power = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const value = bytes / 1024 ** power;
  return `${value < 10 && power > 0 ? value.toFixed(1) : Math.round(value)} ${BYTE_UNITS[power] ?? 'bytes'}`;
}

/** A duration in its two largest units: `1 d 5 h`, `2 min 10 s`, `8 s`. Parts of a second round up. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.ceil(seconds));
  const index = TIME_UNITS.findIndex((unit) => whole >= unit.seconds);
  const [large, small] = TIME_UNITS.slice(index === -1 ? -1 : index);
  if (large === undefined || small === undefined) return `${whole} s`;
  const rest = Math.floor((whole % large.seconds) / small.seconds);
  const first = `${Math.floor(whole / large.seconds)} ${large.name}`;
  return rest === 0 ? first : `${first} ${rest} ${small.name}`;
}

/** Milliseconds with two or three significant digits: `2.8 ms`, `340 ms`. */
export function formatMilliseconds(ms: number): string {
  return `${formatCount(Number(ms.toPrecision(ms >= 100 ? 3 : 2)))} ms`;
}

/** How long something took: in milliseconds below a second, else as `formatDuration`. */
export function formatElapsed(seconds: number): string {
  return seconds < 1 ? formatMilliseconds(Math.max(0, seconds) * 1_000) : formatDuration(seconds);
}
