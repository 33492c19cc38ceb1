import { text } from 'node:stream/consumers';
import { CLOUD_TYPES } from '../../events/domain.ts';
import { UsageError } from '../../lib/errors.ts';
import {
  addSource,
  disable,
  dropOldSecrets,
  reencryptSources,
  rotateSecret,
} from '../../sources/change-sources.ts';
import type { GivenSecret, Made, SourceChange } from '../../sources/change-sources.ts';
import { describeSources, limitsOf, type SourceLine } from '../../sources/describe-sources.ts';
import { reencryptDestinations } from '../../forward/change-destinations.ts';
import { readSecrets } from '../../sources/webhook-secret.ts';
import type { ServiceConfig } from '../../serve/load-settings.ts';
import type { Db } from '../../store/server/database.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { countOf } from '../../lib/text/units.ts';
import { note, print, printRows, type Columns } from '../shared/output.ts';
import { commandOperator } from '../shared/process.ts';
import { commandName } from '../../lib/text/command-name.ts';

interface AddOptions {
  readonly secret?: string | undefined;
  readonly apiUrl?: string | undefined;
  readonly apiToken?: string | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly type?: readonly string[] | undefined;
  readonly deliveriesPerSecond?: number | undefined;
  readonly bytesPerSecond?: number | undefined;
}

/** `sources add`: adds a source and prints what its sender needs. */
export async function add(db: Db, config: ServiceConfig, name: string, options: AddOptions): Promise<void> {
  const { apiUrl, apiToken, username, password, type } = options;
  if ([options.secret, apiToken, password].filter((place) => place === '-').length > 1) {
    throw new UsageError('only one secret can come from standard input');
  }
  const secret = await secretAt(options.secret);
  const hasCloud = [apiUrl, apiToken, username, password].some((one) => one !== undefined);
  const cloud = { apiUrl: apiUrl ?? '', token: await secretAt(apiToken), username };
  const given = {
    name,
    secret,
    cloud: hasCloud ? { ...cloud, password: await secretAt(password) } : undefined,
    messageTypes: type,
    limits: { deliveries_per_second: options.deliveriesPerSecond, bytes_per_second: options.bytesPerSecond },
  };
  const made = await addSource(changeOf(db, config), given);
  print(`added ${name}: send deliveries to ${config.publicUrl ?? ''}/ingest/${name}/MESSAGE_TYPE`);
  printSecret(made);
  if (hasCloud) printNextStep(config, name);
}

interface RotateOptions {
  readonly secret?: string | undefined;
  /** Hours. */
  readonly keep?: number | undefined;
  readonly dropOld?: true | undefined;
  readonly reencrypt?: true | undefined;
}

/** `sources rotate`: adds a secret, or drops the old ones, or encrypts all again. */
export async function rotate(
  db: Db,
  config: ServiceConfig,
  name: string | undefined,
  { secret, keep, dropOld, reencrypt }: RotateOptions,
): Promise<void> {
  const change = changeOf(db, config);
  if (reencrypt === true) {
    if (name !== undefined) throw new UsageError('--reencrypt applies to all sources: omit the name');
    const sources = countOf(await reencryptSources(change), 'source');
    const destinations = countOf(await reencryptDestinations(db, config), 'destination');
    print(`encrypted the secrets of ${sources} and ${destinations} with the first key`);
    return;
  }
  if (name === undefined) throw new UsageError('give the name of a source (see --help)');
  if (dropOld === true) {
    await dropOldSecrets(change, name);
    print(`dropped the old secrets of ${name}`);
    return;
  }
  const until = keep === undefined ? null : new Date(Date.now() + keep * 3_600_000);
  const given = await secretAt(secret);
  const made = await rotateSecret(change, name, given, until);
  const end = until === null ? `until "sources rotate ${name} --drop-old"` : `until ${until.toISOString()}`;
  print(`${name} accepts a new secret, and the old ones ${end}`);
  printSecret(made);
  const sources = await describeSources(db, ALL_SOURCES, config.sources);
  const hasApi = sources.some((source) => source.name === name && source.api_url !== null);
  if (hasApi) printNextStep(config, name);
  else note("enter the new secret in the cloud's subscriptions");
}

/** `sources disable`: refuses further deliveries of a source. */
export async function disableOne(db: Db, config: ServiceConfig, name: string): Promise<void> {
  await disable(changeOf(db, config), name);
  print(`disabled ${name}: its deliveries are refused, its events stay`);
}

const COLUMNS: Columns<SourceLine> = {
  name: ({ name }) => name,
  state: ({ state }) => state,
  'defined in': ({ origin }) => origin,
  secrets: ({ secrets }) => String(secrets),
  'old secrets until': ({ old_secrets_until: until }) => until,
  api: ({ api_url: url }) => url,
  'message types': ({ message_types: types }) =>
    types === null ? 'default' : types.length === CLOUD_TYPES.length ? 'all' : types.join(', '),
  limits: limitsOf,
};

/** `sources list`: prints the sources as a table, or as JSON lines. */
export async function printSources(db: Db, config: ServiceConfig, asJson: boolean): Promise<void> {
  const sources = await describeSources(db, ALL_SOURCES, await readSecrets(config));
  await printRows(sources, COLUMNS, asJson);
}

const changeOf = (db: Db, config: ServiceConfig): SourceChange => ({
  db,
  operator: commandOperator(),
  context: config,
  configured: config.sources,
});

/** The secret at `env:NAME` or `file:/path`, or on standard input (`-`). */
async function secretAt(place: string | undefined): Promise<GivenSecret | undefined> {
  if (place === undefined) return undefined;
  if (place === '-') return { value: (await text(process.stdin)).replace(/\r?\n$/, '') };
  const [, kind, at = ''] = /^(env|file):(.+)$/s.exec(place) ?? [];
  if (kind === 'env') return { env: at };
  if (kind === 'file') return { file: at };
  throw new UsageError(
    'a secret must be given as env:NAME, file:/path, or - for standard input: others on this machine can read arguments',
  );
}

function printSecret({ generated }: Made): void {
  if (generated === undefined) return;
  print(`webhook secret: ${generated}`);
  note('(shown only once)');
}

function printNextStep({ subscribe }: ServiceConfig, name: string): void {
  if (subscribe === 'auto') note('serve registers the new secret in the cloud within seconds');
  else note(`register the new secret in the cloud with: ${commandName()} subscribe apply --source ${name}`);
}
