import type { DestinationStatus } from '../../src/store/destinations/destinations.ts';

/** A destination as the database describes it: up to date, unless told otherwise. */
export const destinationStatus = (
  name: string,
  overrides: Partial<DestinationStatus> = {},
): DestinationStatus => ({
  name,
  state: 'running',
  behind_since: null,
  behind_count: 0,
  rejected_count: 0,
  cursor_position: '1',
  generation: '0',
  sent_count: '0',
  lease_holder: null,
  lease_until: null,
  last_sent_at: null,
  last_error: null,
  last_error_at: null,
  created_at: new Date(),
  rejected_in_row: 0,
  ...overrides,
});
