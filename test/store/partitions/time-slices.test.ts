import { expect, it } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/lib/clock.ts';
import { SCANNED, timeSlices } from '../../../src/store/partitions/time-slices.ts';
import { useDatabase } from '../../support/use-database.ts';

const database = useDatabase();

const AUDIT = [{ family: 'audit' }] as const;

it.each([1, 0])('begins %d days ahead of the clock with a slice that reaches the last hour', async (days) => {
  const until = new Date(Date.now() + days * DAY_MS);
  const range = { since: new Date(Date.now() - 20 * DAY_MS), until };
  const [first] = await Array.fromAsync(timeSlices(database.db, AUDIT, range, 'newest', SCANNED));
  expect(first?.until).toEqual(until);
  expect(Date.now() - Number(first?.since)).toBeGreaterThanOrEqual(HOUR_MS);
  expect(Date.now() - Number(first?.since)).toBeLessThan(2 * HOUR_MS);
});
