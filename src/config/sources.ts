import { CLOUD_TYPES, type CloudType } from '../events/domain.ts';
import type { EnvironmentSettings } from './environment.ts';
import type { SettingsFile, SourceLimits } from './settings-file.ts';

interface CloudAccess {
  /** Without a trailing slash; may have a path prefix. */
  readonly apiUrl: string;
  readonly credentials:
    { readonly apiToken: string } | { readonly username: string; readonly password: string };
  /** Whether `apiUrl` must be on the public internet. Only the settings may contain an address in the local network. */
  readonly publicOnly?: boolean;
}

/** A cloud account that sends to this program, with the secrets of its deliveries. */
export interface SourceConfig {
  readonly name: string;
  /** All are accepted, the first is registered. Empty only until the default source's secret is generated. */
  readonly secrets: readonly string[];
  /** Undefined: its subscriptions are managed elsewhere. */
  readonly cloud: CloudAccess | undefined;
  /** What to subscribe to; deliveries of any type are accepted. */
  readonly messageTypes: readonly CloudType[];
  /** What it may send to each ingest process. Undefined: as much as there is room for. */
  readonly limits?: SourceLimits | undefined;
}

const DEFAULT_SOURCE = 'default';

/**
 * The sources of the file, and the default one of the environment unless only the file defines sources. `problems` gains
 * a line if they contradict each other.
 */
export function mergeSources(
  environment: EnvironmentSettings | undefined,
  file: SettingsFile,
  problems: string[],
): readonly SourceConfig[] {
  const { WEBHOOK_SECRET: secrets, MESSAGE_TYPES: messageTypes = CLOUD_TYPES } = environment ?? {};
  const cloud = environmentCloud(environment, problems);
  const sources = file.sources.map((source, index) =>
    sourceOf(source, `XIQ_SINK_CONFIG: sources.${index}`, messageTypes, problems),
  );
  if (new Set(sources.map(({ name }) => name)).size < sources.length) {
    problems.push('XIQ_SINK_CONFIG: two sources have the same name');
  }
  const inFile = sources.find(({ name }) => name === DEFAULT_SOURCE);
  if (inFile !== undefined) {
    if (secrets !== undefined) problems.push(twice('WEBHOOK_SECRET', 'secrets'));
    if (cloud !== undefined && inFile.cloud !== undefined) problems.push(twice('CLOUD_API_URL', 'cloud'));
    return sources.map((source) =>
      source === inFile ? { ...source, cloud: source.cloud ?? cloud } : source,
    );
  }
  if (secrets === undefined && sources.length > 0) {
    if (cloud !== undefined) {
      problems.push(
        `CLOUD_API_URL belongs to the source "${DEFAULT_SOURCE}", which the file does not define: set a cloud for each source in the file`,
      );
    }
    return sources;
  }
  return [{ name: DEFAULT_SOURCE, secrets: secrets ?? [], cloud, messageTypes }, ...sources];
}

/** A source of the file, or of the database. `at` is its place in problems. */
export function sourceOf(
  source: SettingsFile['sources'][number],
  at: string,
  messageTypes: readonly CloudType[],
  problems: string[],
): SourceConfig {
  return {
    name: source.name,
    secrets: source.webhook_secrets,
    cloud: source.cloud && cloudAccess(source.cloud, (member) => `${at}.cloud.${member}`, problems),
    messageTypes: source.message_types ?? messageTypes,
    limits: source.limits,
  };
}

const twice = (setting: string, what: string) =>
  `${setting}: the file's source "${DEFAULT_SOURCE}" has its own ${what}; set only one of the two`;

type GivenCloud = Readonly<
  Partial<Record<'api_url' | 'api_token' | 'username' | 'password', string | undefined>>
>;

function environmentCloud(environment: EnvironmentSettings | undefined, problems: string[]) {
  const given = {
    api_url: environment?.CLOUD_API_URL,
    api_token: environment?.CLOUD_API_TOKEN,
    username: environment?.CLOUD_USERNAME,
    password: environment?.CLOUD_PASSWORD,
  };
  if (Object.values(given).every((value) => value === undefined)) return undefined;
  return cloudAccess(given, (member) => `CLOUD_${member.toUpperCase()}`, problems);
}

function cloudAccess(
  { api_url: apiUrl, api_token: apiToken, username, password }: GivenCloud,
  nameOf: (member: keyof GivenCloud) => string,
  problems: string[],
): CloudAccess | undefined {
  const problem = (text: string) => {
    problems.push(text);
    return undefined;
  };
  const both = `${nameOf('username')} and ${nameOf('password')}`;
  if (apiUrl === undefined) return problem(`${nameOf('api_url')} is required with credentials`);
  if (apiToken !== undefined) {
    if (username !== undefined || password !== undefined) {
      return problem(`${nameOf('api_token')}: set it, or ${both}, not both`);
    }
    return { apiUrl, credentials: { apiToken } };
  }
  if (username === undefined || password === undefined) {
    return problem(`${nameOf('api_url')}: needs ${nameOf('api_token')}, or both ${both}`);
  }
  return { apiUrl, credentials: { username, password } };
}
