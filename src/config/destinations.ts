import type { SettingsFile } from './settings-file.ts';

/** Where events are forwarded to. Only the forwarder knows the options of each type of destination, and checks them. */
export interface ForwardingSettings extends Omit<SettingsFile, 'sources' | 'reports'> {
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
  { destinations, redaction, alerts, reports }: SettingsFile,
): ForwardingSettings {
  const [forwardTo, forwardToken] = [env['FORWARD_TO'] || undefined, env['FORWARD_TOKEN'] || undefined];
  return { destinations, redaction, alerts, reports, forwardTo, forwardToken };
}

/** The name of the destination in FORWARD_TO. */
export const DEFAULT_DESTINATION = 'default';

/** The names of all configured destinations. */
export function destinationNames({ destinations, forwardTo }: ForwardingSettings): string[] {
  const names = destinations.map(({ name }) => name);
  return forwardTo === undefined ? names : [...names, DEFAULT_DESTINATION];
}
