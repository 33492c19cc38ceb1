import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadConfig, maskConfig } from '../../src/config.ts';
import { CLOUD_TYPES } from '../../src/domain.ts';
import { UsageError } from '../../src/errors.ts';

const SECRET = 'a-webhook-secret-0123456789';
const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.token';
const PASSWORD = 'correct horse battery';
const API = { CLOUD_API_URL: 'https://cloud.test/prefix/', CLOUD_API_TOKEN: TOKEN };
const PUBLIC = { PUBLIC_URL: 'https://sink.test/' };

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-config-'));
});
afterAll(() => rm(directory, { recursive: true }));

async function settingsFile(text: string): Promise<{ XIQ_SINK_CONFIG: string }> {
  const file = path.join(directory, 'settings.yaml');
  await writeFile(file, text);
  return { XIQ_SINK_CONFIG: file };
}

/** The lines of problems that loading these settings ends in. */
function problemsOf(env: Record<string, string>): string {
  try {
    loadConfig(env);
    return '';
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return error.message;
  }
}

describe('the cloud of the default source', () => {
  it('is none unless it is set; all message types are wanted, and drift is only reported', () => {
    expect(loadConfig({})).toMatchObject({
      sources: [{ name: 'default', cloud: undefined, messageTypes: CLOUD_TYPES }],
      publicUrl: undefined,
      subscribe: 'report',
    });
  });

  it('is reached with an API token; addresses lose their last slash', () => {
    expect(loadConfig({ ...API, ...PUBLIC, SUBSCRIBE: 'auto' })).toMatchObject({
      sources: [{ cloud: { apiUrl: 'https://cloud.test/prefix', credentials: { apiToken: TOKEN } } }],
      publicUrl: 'https://sink.test',
      subscribe: 'auto',
    });
  });

  it('is reached with user name and password', () => {
    const env = { CLOUD_API_URL: 'https://cloud.test', CLOUD_USERNAME: 'me', CLOUD_PASSWORD: PASSWORD };
    expect(loadConfig(env).sources[0]?.cloud).toEqual({
      apiUrl: 'https://cloud.test',
      credentials: { username: 'me', password: PASSWORD },
    });
  });

  it('sends the message types that are set, each once', () => {
    const { sources } = loadConfig({ MESSAGE_TYPES: 'SMS_LOG_ALL, AUDIT_LOG_ALL,SMS_LOG_ALL' });
    expect(sources[0]?.messageTypes).toEqual(['SMS_LOG_ALL', 'AUDIT_LOG_ALL']);
  });

  it.each([
    [
      'an API without credentials',
      { CLOUD_API_URL: 'https://cloud.test' },
      /CLOUD_API_URL: needs CLOUD_API_TOKEN/,
    ],
    ['a token without an API', { CLOUD_API_TOKEN: TOKEN }, /CLOUD_API_URL is required/],
    [
      'a user name without a password',
      { CLOUD_API_URL: 'https://c.test', CLOUD_USERNAME: 'me' },
      /CLOUD_PASSWORD/,
    ],
    [
      'two ways to log in',
      { ...API, CLOUD_USERNAME: 'me', CLOUD_PASSWORD: PASSWORD },
      /CLOUD_API_TOKEN: set it, or/,
    ],
    [
      'an API that is no address',
      { ...API, CLOUD_API_URL: 'cloud.test' },
      /CLOUD_API_URL must be .*got "cloud.test"/,
    ],
    [
      'an API by http on another machine, where credentials could be read on the way',
      { ...API, CLOUD_API_URL: 'http://10.0.0.1' },
      /CLOUD_API_URL must be an https:\/\/ address, or http:\/\/ on this machine/,
    ],
    ['a token that no header carries', { ...API, CLOUD_API_TOKEN: 'two words' }, /CLOUD_API_TOKEN must be/],
    ['an unknown message type', { MESSAGE_TYPES: 'AUDIT_LOG_ALL,LOCATION' }, /MESSAGE_TYPES must be/],
    ['a mode there is not', { SUBSCRIBE: 'yes' }, /SUBSCRIBE must be one of report, auto/],
    ['auto without an API', { ...PUBLIC, SUBSCRIBE: 'auto' }, /SUBSCRIBE=auto needs/],
    ['auto without an address of ours', { ...API, SUBSCRIBE: 'auto' }, /SUBSCRIBE=auto needs/],
  ])('refuses %s', (_what, env, problem) => {
    expect(problemsOf(env)).toMatch(problem);
  });
});

describe('PUBLIC_URL', () => {
  it.each(['http://127.0.0.1:8090', 'http://localhost:8090', 'http://[::1]:8090', 'https://cloud.localhost'])(
    'may be http while the API is at %s',
    (apiUrl) => {
      const env = { ...API, CLOUD_API_URL: apiUrl, PUBLIC_URL: 'http://127.0.0.1:8080' };
      expect(loadConfig(env).publicUrl).toBe('http://127.0.0.1:8080');
    },
  );

  it.each(['https://cloud.test', 'https://127.0.0.1.cloud.test', 'https://10.0.0.1'])(
    'must be https while the API is at %s',
    (apiUrl) => {
      const env = { ...API, CLOUD_API_URL: apiUrl, PUBLIC_URL: 'http://sink.test' };
      expect(problemsOf(env)).toMatch(/PUBLIC_URL must be an https/);
    },
  );

  it.each(['https://sink.test/?x=1', 'https://sink.test/#x', 'ftp://sink.test', 'sink.test'])(
    'is refused as %s',
    (PUBLIC_URL) => {
      expect(problemsOf({ PUBLIC_URL })).toMatch(/PUBLIC_URL must be an address/);
    },
  );
});

describe('the clouds of the file', () => {
  const sources = `
sources:
  - name: north
    webhook_secrets: [${SECRET}-north]
    cloud: { api_url: https://north.test, api_token: ${TOKEN} }
    message_types: [AUDIT_LOG_ALL]
  - name: default
    webhook_secrets: [${SECRET}]
`;

  it('belong to their sources; what a source does not say is as in the environment', async () => {
    const env = { ...(await settingsFile(sources)), ...API, MESSAGE_TYPES: 'GDPR_LOG_ALL' };
    expect(loadConfig(env).sources).toEqual([
      {
        name: 'north',
        secrets: [`${SECRET}-north`],
        cloud: { apiUrl: 'https://north.test', credentials: { apiToken: TOKEN } },
        messageTypes: ['AUDIT_LOG_ALL'],
      },
      {
        name: 'default',
        secrets: [SECRET],
        cloud: { apiUrl: 'https://cloud.test/prefix', credentials: { apiToken: TOKEN } },
        messageTypes: ['GDPR_LOG_ALL'],
      },
    ]);
  });

  it('are refused where the environment says another', async () => {
    const own = `cloud: { api_url: https://own.test, api_token: ${TOKEN} }`;
    const env = { ...(await settingsFile(`${sources}    ${own}\n`)), ...API };
    expect(problemsOf(env)).toMatch(/CLOUD_API_URL: the file's source "default" has a cloud of its own/);
  });

  it("are not replaced by the environment's, which would belong to nobody", async () => {
    const env = { ...(await settingsFile(sources.replace('name: default', 'name: south'))), ...API };
    expect(problemsOf(env)).toMatch(/CLOUD_API_URL belongs to the source "default"/);
  });

  it('are refused half told, by the place in the file', async () => {
    const env = await settingsFile(sources.replace(`api_token: ${TOKEN}`, 'username: me'));
    expect(problemsOf(env)).toMatch(/sources\.0\.cloud\.api_url: needs .*sources\.0\.cloud\.password/);
  });
});

describe('secrets', () => {
  const all = {
    WEBHOOK_SECRET: SECRET,
    ...PUBLIC,
    CLOUD_API_URL: 'https://cloud.test',
    CLOUD_USERNAME: 'me',
    CLOUD_PASSWORD: PASSWORD,
  };

  it('are not among the settings as they may be shown', () => {
    const token = JSON.stringify(
      maskConfig(loadConfig({ ...all, ...API, CLOUD_USERNAME: '', CLOUD_PASSWORD: '' })),
    );
    const password = JSON.stringify(maskConfig(loadConfig(all)));
    expect(token).toContain('https://cloud.test/prefix with API token');
    expect(password).toContain('https://cloud.test with user name');
    for (const secret of [SECRET, PASSWORD, TOKEN]) expect(token + password).not.toContain(secret);
  });

  it('are not in the problems with them', () => {
    const broken = {
      WEBHOOK_SECRET: `${SECRET},short-1`,
      CLOUD_API_TOKEN: `${TOKEN} `,
      CLOUD_PASSWORD: PASSWORD,
      CLOUD_API_URL: `https://me:${PASSWORD}@cloud.test`,
      PUBLIC_URL: `https://sink.test/?token=${TOKEN}`,
      LOG_LEVEL: 'loud',
    };
    const problems = problemsOf(broken);
    expect(problems).toMatch(/CLOUD_API_TOKEN[\s\S]*LOG_LEVEL/);
    for (const secret of [SECRET, 'short-1', PASSWORD, TOKEN]) expect(problems).not.toContain(secret);
  });

  it.each([
    ['broken', `sources: [{ name: north, webhook_secrets: [${SECRET} ]`],
    ['with a tab', `sources:\n\t- name: ${SECRET}`],
    ['with an alias', `sources: [{ name: north, webhook_secrets: [*${SECRET}] }]`],
    ['with a tag', `sources: [{ name: north, webhook_secrets: [!${SECRET} x] }]`],
    ['of another shape', `sources: [{ name: north, webhook_secrets: ${SECRET}, cloud: ${TOKEN} }]`],
    [
      'with a wrong address',
      `sources: [{ name: x, cloud: { api_url: "x:${PASSWORD}@y", password: ${PASSWORD} } }]`,
    ],
  ])('are not quoted from a file %s', async (_what, text) => {
    const problems = problemsOf(await settingsFile(text));
    expect(problems).toMatch(/XIQ_SINK_CONFIG/);
    for (const secret of [SECRET, PASSWORD, TOKEN]) expect(problems).not.toContain(secret);
  });
});
