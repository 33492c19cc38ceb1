import { readFileSync } from 'node:fs';
import type { Environment } from './environment.ts';
import type { SettingsFile } from './settings-file.ts';

/** One destination as given. The forwarder validates all options except the name. */
interface DestinationSettings {
  readonly name: string;
  readonly [option: string]: unknown;
}

/** The settings for forwarding, before the options of any destination type are validated. */
export interface ForwardingSettings {
  /** The destinations from the file, with all references resolved. */
  readonly destinations: readonly DestinationSettings[];
  /** Additional rules for what to hide in events before they are forwarded. */
  readonly redaction: unknown;
  /** One more destination, as a URL. */
  readonly forwardTo: string | undefined;
  /** Its credential. */
  readonly forwardToken: string | undefined;
}

/** Reads the settings for forwarding. Adds a line to `problems` for each reference that can't be resolved. */
export function readForwarding(
  settings: Environment | undefined,
  file: SettingsFile,
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): ForwardingSettings {
  return {
    destinations: file.destinations.map(({ name, ...options }, index) => {
      const at = `XIQ_SINK_CONFIG: destinations.${index}`;
      const resolved = Object.entries(options).map(([option, value]) => {
        return [option, resolve(value, `${at}.${option}`, env, problems)] as const;
      });
      return { name, ...Object.fromEntries(resolved) };
    }),
    redaction: file.redaction,
    forwardTo: settings?.FORWARD_TO,
    forwardToken: settings?.FORWARD_TOKEN,
  };
}

/** The name of the destination in FORWARD_TO. */
export const DEFAULT_DESTINATION = 'default';

/** The names of all configured destinations. */
export function destinationNames({ destinations, forwardTo }: ForwardingSettings): string[] {
  const names = destinations.map(({ name }) => name);
  return forwardTo === undefined ? names : [...names, DEFAULT_DESTINATION];
}

/** Resolves the references `{ env: NAME }` and `{ file: path }` in a value, at any depth. */
function resolve(
  value: unknown,
  at: string,
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): unknown {
  if (Array.isArray(value)) return value.map((one, index) => resolve(one, `${at}.${index}`, env, problems));
  if (typeof value !== 'object' || value === null) return value;
  const members: [string, unknown][] = Object.entries(value);
  const [[kind, name] = ['', undefined], second] = members;
  if (second === undefined && typeof name === 'string') {
    if (kind === 'env') return fromEnvironment(name, at, env, problems);
    if (kind === 'file') return fromFile(name, at, problems);
  }
  return Object.fromEntries(
    members.map(([member, inner]) => [member, resolve(inner, `${at}.${member}`, env, problems)]),
  );
}

function fromEnvironment(
  name: string,
  at: string,
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): string {
  const value = env[name] ?? '';
  if (value === '') problems.push(`${at}: the environment variable ${name} is not set`);
  return value;
}

function fromFile(file: string, at: string, problems: string[]): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    problems.push(`${at}: can't read ${file} (${code})`);
    return '';
  }
}
