import type { Family } from '../../../events/domain.ts';

// The families of message types. A type has the colour of its family on every page: `--audit` and the like in console.css.

/** The families with their titles, in the order of their bars from the bottom up. */
export const FAMILIES: readonly (readonly [family: Family, title: string])[] = [
  ['audit', 'audit'],
  ['location', 'location'],
  ['log', 'logs'],
  ['alerts', 'alerts'],
  ['other', 'other'],
];

function familyOf(type: string): Family {
  if (type.startsWith('LOCATION_')) return 'location';
  if (type === 'AUDIT_LOG_ALL') return 'audit';
  if (type === 'ALERT') return 'alerts';
  return type === 'OTHER' ? 'other' : 'log';
}

/** Sums counts by message type to counts by family. */
export function countFamilies(counts: Readonly<Record<string, number>>) {
  const families = { audit: 0, location: 0, log: 0, alerts: 0, other: 0 };
  for (const [type, count] of Object.entries(counts)) families[familyOf(type)] += count;
  return families;
}
