import { readFileSync } from 'node:fs';
import type { Environment } from './environment.ts';
import type { SettingsFile } from './settings-file.ts';

/** One destination as it is given. What it may say beside its name is the forwarder's to check. */
interface DestinationSettings {
  readonly name: string;
  readonly [option: string]: unknown;
}

/** Where events are forwarded to, as far as the settings can tell without knowing any destination's type. */
export interface ForwardingSettings {
  /** Of the file, every value in place of its reference. */
  readonly destinations: readonly DestinationSettings[];
  /** What to hide in events before they leave; undefined: the usual. */
  readonly redaction: unknown;
  /** One destination more, as a URL. */
  readonly forwardTo: string | undefined;
  /** Its credential. */
  readonly forwardToken: string | undefined;
}

/** Gathers what the settings say about destinations. `problems` gains a line for each value that cannot be had. */
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

/** The destination that FORWARD_TO names. */
export const DEFAULT_DESTINATION = 'default';

/** The names of all destinations that are set. */
export function destinationNames({ destinations, forwardTo }: ForwardingSettings): string[] {
  const names = destinations.map(({ name }) => name);
  return forwardTo === undefined ? names : [...names, DEFAULT_DESTINATION];
}

/** A value with the texts that its references name: `{ env: NAME }` and `{ file: path }`, at any depth. */
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
    problems.push(`${at}: ${file} cannot be read: ${code}`);
    return '';
  }
}
