import type { SettingsFile } from './settings-file.ts';

/** Where events are forwarded to. Only the forwarder knows the options of each type of destination, and checks them. */
export interface ForwardingSettings {
  /** Those of the settings file, with the texts that their references refer to. */
  readonly destinations: SettingsFile['destinations'];
  /** What to redact in events before they are sent. Undefined: the default rules. */
  readonly redaction: unknown;
  /** The alert rules, which only the forwarder knows. Undefined: none. */
  readonly alerts: unknown;
  /** The scheduled reports, which only the forwarder can check. Undefined: none. */
  readonly reports?: unknown;
  /** One more destination, as a URL. */
  readonly forwardTo: string | undefined;
  /** The credential for it. */
  readonly forwardToken: string | undefined;
}

/** Gathers the settings about destinations. */
export function gatherForwarding(
  env: Readonly<Record<string, string | undefined>>,
  file: SettingsFile,
): ForwardingSettings {
  return {
    destinations: file.destinations,
    redaction: file.redaction,
    alerts: file.alerts,
    reports: file.reports,
    forwardTo: env['FORWARD_TO'] || undefined,
    forwardToken: env['FORWARD_TOKEN'] || undefined,
  };
}

/** The name of the destination in FORWARD_TO. */
export const DEFAULT_DESTINATION = 'default';

/** The names of all configured destinations. */
export function destinationNames({ destinations, forwardTo }: ForwardingSettings): string[] {
  const names = destinations.map(({ name }) => name);
  return forwardTo === undefined ? names : [...names, DEFAULT_DESTINATION];
}
