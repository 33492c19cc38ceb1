import type { Silence } from './silence.ts';

const UNITS = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3_600 },
  { name: 'min', seconds: 60 },
] as const;

/** Says in a sentence why a silence is unusual. */
export function describeSilence({ silentSeconds, expected, longestUsualSeconds }: Silence): string {
  const known = `at this time of the week about ${Math.round(expected)} arrive in such a time`;
  const longest = describeSeconds(longestUsualSeconds);
  return `nothing for ${describeSeconds(silentSeconds)}; ${known}, and it was never silent for longer than ${longest}`;
}

/** In the largest unit of which there are two, else in minutes. */
export function describeSeconds(seconds: number): string {
  const unit = UNITS.find((unit) => seconds >= 2 * unit.seconds) ?? UNITS[2];
  return `${Math.max(1, Math.round(seconds / unit.seconds))} ${unit.name}`;
}
