const numbers = new Intl.NumberFormat('en');
const UNITS = ['bytes', 'kB', 'MB', 'GB', 'TB'];

/** A number with its thousands apart. */
export const numberOf = (value: number): string => numbers.format(value);

/** A size in the largest unit of which there is one (SI: 1 kB is 1,000 bytes). */
export function bytesOf(bytes: number): string {
  const step = Math.min(Math.floor(Math.log10(Math.max(bytes, 1)) / 3), UNITS.length - 1);
  const value = bytes / 1000 ** step;
  return `${step === 0 ? value : value.toPrecision(3)} ${UNITS[step]}`;
}
