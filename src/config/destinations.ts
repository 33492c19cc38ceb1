import type { SettingsFile } from './settings-file.ts';
import type { Environment } from './references.ts';

/** Where events are forwarded to. Only the forwarder knows the options of each type of destination, and checks them. */
export interface ForwardingSettings extends Omit<SettingsFile, 'sources'> {
  readonly forwardTo: string | undefined;
  readonly forwardToken: string | undefined;
}

export function gatherForwarding(
  env: Environment,
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
