import type { ForwardingSettings } from '../../src/config/destinations.ts';

/** The settings of forwarding that a test names; all others are not set. */
export const forwardingSettings = (given: Partial<ForwardingSettings>): ForwardingSettings => ({
  destinations: [],
  redaction: undefined,
  alerts: undefined,
  forwardTo: undefined,
  forwardToken: undefined,
  ...given,
});
