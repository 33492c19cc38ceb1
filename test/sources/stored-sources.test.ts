import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { followSources } from '../../src/sources/follow-sources.ts';
import {
  readStoredSource,
  subjectOf,
  type SourceDefinition,
  type StoredSource,
} from '../../src/sources/stored-sources.ts';
import { readSecrets } from '../../src/sources/webhook-secret.ts';
import { sealSecret } from '../../src/config/sealed-secret.ts';
import { SECRETS_KEY } from '../support/sources.ts';
import { useDirectory } from '../support/use-directory.ts';

const { secretsKeys, messageTypes, sources } = loadConfig({ SECRETS_KEY });
const variables = { NEW: 'new-secret-0123456789', OLD: 'old-secret-0123456789', SHORT: 'short' };

const directory = useDirectory();

const UNTIL = new Date(1_000_000);

function read(definition: SourceDefinition, { keys = secretsKeys, now = 0, settings = sources } = {}) {
  const problems: string[] = [];
  const stored = { name: 'east', definition, oldSecretsUntil: UNTIL, isDisabled: false };
  const source = readStoredSource(
    stored,
    { variables, secretsKeys: keys, messageTypes },
    now,
    problems,
    settings,
  );
  return { source, problems };
}

const cloud = { api_url: 'https://api.example', api_token: { env: 'NEW' } };

it('reads secrets from the environment, from a file, and from what is encrypted', async () => {
  const file = path.join(directory, 'secret');
  await writeFile(file, 'secret-of-a-file-0123456789\n');
  const [key] = secretsKeys;
  const sealed = key === undefined ? '' : sealSecret('sealed-secret-0123456789', subjectOf('east'), key);
  const definition = { webhook_secrets: [{ env: 'NEW' }, { file }, { sealed }], cloud };
  expect(read(definition)).toEqual({
    source: {
      name: 'east',
      secrets: ['new-secret-0123456789', 'secret-of-a-file-0123456789', 'sealed-secret-0123456789'],
      cloud: {
        apiUrl: 'https://api.example',
        credentials: { apiToken: 'new-secret-0123456789' },
        publicOnly: true,
      },
      messageTypes,
    },
    problems: [],
  });
  // Without the key the others are accepted, and no secret is registered in the cloud.
  const keyless = read(definition, { keys: [] });
  expect(keyless.source?.secrets).toEqual(['new-secret-0123456789', 'secret-of-a-file-0123456789']);
  expect(keyless.source?.cloud).toBeUndefined();
  expect(keyless.problems).toEqual([
    'source "east": webhook_secrets.2: the secret is encrypted, but SECRETS_KEY is not set',
  ]);
});

it('ends all secrets but the first at their time', () => {
  const definition = { webhook_secrets: [{ env: 'NEW' }, { env: 'OLD' }] };
  expect(read(definition, { now: UNTIL.getTime() - 1 }).source?.secrets).toHaveLength(2);
  expect(read(definition, { now: UNTIL.getTime() }).source?.secrets).toEqual([variables.NEW]);
});

it.each([
  [
    { webhook_secrets: [{ env: 'MISSING' }] },
    /webhook_secrets\.0: the environment variable MISSING is not set/,
  ],
  [{ webhook_secrets: [{ env: 'SHORT' }] }, /webhook_secrets\.0: must be at least 16 characters/],
  [{ webhook_secrets: [{ env: 'NEW' }], message_types: ['NONE'] }, /message_types\.0: must be message types/],
  [{ webhook_secrets: [{ env: 'NEW' }], surprise: 1 }, /unknown setting "surprise"/],
])('leaves out a source that is wrong: %j', (definition, message) => {
  const { source, problems } = read(definition);
  expect(source).toBeUndefined();
  expect(problems.join()).toMatch(message);
  expect(problems.join()).not.toContain(variables.SHORT);
});

it('does not manage the subscriptions of a source whose API is wrong', () => {
  const { source, problems } = read({
    webhook_secrets: [{ env: 'NEW' }],
    cloud: { api_url: 'https://x.example' },
  });
  expect(source?.cloud).toBeUndefined();
  expect(problems.join()).toMatch(/cloud\.api_url: needs/);
});

it.each([
  'http://localhost:9',
  'https://127.0.0.1',
  'https://10.0.0.1',
  'https://169.254.169.254',
  'https://[fe80::1]',
])('leads to no address of this network, unless the settings have the same one: %s', (address) => {
  const definition = { webhook_secrets: [{ env: 'NEW' }], cloud: { ...cloud, api_url: address } };
  const { source, problems } = read(definition);
  expect(source?.cloud).toBeUndefined();
  expect(problems.join()).toMatch(/cloud\.api_url must be a public internet address/);
  const known = { apiUrl: address, credentials: { apiToken: 'of-the-settings' } };
  const settings = sources.map((one) => ({ ...one, cloud: known }));
  expect(read(definition, { settings }).source?.cloud).toMatchObject({ apiUrl: address, publicOnly: false });
});

it.each([
  ['ingest', 1],
  ['worker', 0],
] as const)(
  'without a database, a process that receives says that it knows only the settings: %s',
  async (role, lines) => {
    const logged: string[] = [];
    const logger = pino({}, { write: (line) => logged.push(line) });
    const used: (readonly StoredSource[])[] = [];
    const useStored = (stored: readonly StoredSource[]) => used.push(stored);
    const refresh = () => undefined;
    await using opened = new AsyncDisposableStack();
    await followSources(
      { dataDir: directory, useStored, refresh, databaseUrl: undefined, role, logger },
      opened,
    );
    expect([logged.length, used]).toEqual([lines, [[]]]);
  },
);

it('the generated secret is that of the sources without one, once it is there', async () => {
  const [without] = sources;
  const settings = { ...loadConfig({}), dataDir: directory };
  expect(await readSecrets(settings)).toEqual([without]);
  await writeFile(path.join(directory, 'webhook-secret'), 'kept-secret-0123456789\n');
  expect(await readSecrets(settings)).toEqual([{ ...without, secrets: ['kept-secret-0123456789'] }]);
});
