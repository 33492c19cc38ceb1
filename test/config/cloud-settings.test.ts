import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import { useDirectory } from '../support/use-directory.ts';
import { problemsOf } from './problems-of.ts';

const SECRET = 'a-webhook-secret-0123456789';
const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.token';
const PASSWORD = 'correct horse battery';
const API = { CLOUD_API_URL: 'https://cloud.test/prefix/', CLOUD_API_TOKEN: TOKEN };
const PUBLIC = { PUBLIC_URL: 'https://sink.test/' };

const directory = useDirectory();

function settingsFile(text: string): { XIQ_SINK_CONFIG: string } {
  const file = path.join(directory, 'settings.yaml');
  writeFileSync(file, text);
  return { XIQ_SINK_CONFIG: file };
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

  it.each<readonly [env: Record<string, string>, learns: RegExp]>([
    [{ CLOUD_API_URL: 'https://cloud.test' }, /^CLOUD_API_URL: needs CLOUD_API_TOKEN/],
    [{ CLOUD_API_TOKEN: TOKEN }, /^CLOUD_API_URL is required/],
    [{ CLOUD_API_URL: 'https://c.test', CLOUD_USERNAME: 'me' }, /CLOUD_PASSWORD/],
    [{ ...API, CLOUD_USERNAME: 'me', CLOUD_PASSWORD: PASSWORD }, /^CLOUD_API_TOKEN: set it, or/],
    [{ ...API, CLOUD_API_URL: 'cloud.test' }, /^CLOUD_API_URL must be .*got "cloud.test"/],
    // Credentials could be read on the way.
    ...['http://10.0.0.1', 'http://127.0.0.1.cloud.test', 'http://localhost.test'].map(
      (url) => [{ ...API, CLOUD_API_URL: url }, /^CLOUD_API_URL must be an https:/] as const,
    ),
    [{ ...API, CLOUD_API_URL: 'https://admin:hunter2@c.test/' }, /^CLOUD_API_URL .*without user name/],
    [{ ...API, CLOUD_API_TOKEN: 'two words' }, /^CLOUD_API_TOKEN must be/],
    [{ MESSAGE_TYPES: 'AUDIT_LOG_ALL,LOCATION' }, /^MESSAGE_TYPES must be/],
    [{ SUBSCRIBE: 'yes' }, /^SUBSCRIBE must be one of report, auto/],
    [{ ...PUBLIC, SUBSCRIBE: 'auto' }, /^SUBSCRIBE=auto needs/],
    [{ ...API, SUBSCRIBE: 'auto' }, /^SUBSCRIBE=auto needs/],
  ])('refuses %o, and repeats no password', (env, learns) => {
    expect(problemsOf(env)).toContainEqual(expect.stringMatching(learns));
    expect(problemsOf(env).join()).not.toContain('hunter2');
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
      expect(problemsOf(env)).toEqual([expect.stringContaining('PUBLIC_URL must be an https')]);
    },
  );

  it('must be https without an API, and while one of several is elsewhere', () => {
    const here = { PUBLIC_URL: 'http://127.0.0.1:8080', WEBHOOK_SECRET: SECRET };
    const north = `{ name: north, webhook_secrets: [${SECRET}-n], cloud: { api_url: https://n.test, api_token: x } }`;
    const both = { ...settingsFile(`sources: [${north}]`), ...API, CLOUD_API_URL: 'http://127.0.0.1:8090' };
    for (const env of [here, { ...here, ...both }])
      expect(problemsOf(env)).toEqual([expect.stringContaining('PUBLIC_URL must be an https')]);
  });

  it.each(['https://sink.test/?x=1', 'https://sink.test/#x', 'ftp://sink.test', 'sink.test'])(
    'is refused as %s',
    (PUBLIC_URL) => {
      expect(problemsOf({ PUBLIC_URL })).toEqual([expect.stringContaining('PUBLIC_URL must be an address')]);
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

  it('belong to their sources; what a source does not say is as in the environment', () => {
    const env = { ...settingsFile(sources), ...API, MESSAGE_TYPES: 'GDPR_LOG_ALL' };
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

  it('are refused where the environment says another', () => {
    const own = `cloud: { api_url: https://own.test, api_token: ${TOKEN} }`;
    const env = { ...settingsFile(`${sources}    ${own}\n`), ...API };
    expect(problemsOf(env).join('\n')).toMatch(
      /CLOUD_API_URL: the file's source "default" has its own cloud/,
    );
  });

  it("are not replaced by the environment's, which would belong to nobody", () => {
    const env = { ...settingsFile(sources.replace('name: default', 'name: south')), ...API };
    expect(problemsOf(env).join('\n')).toMatch(/CLOUD_API_URL belongs to the source "default"/);
  });

  it('are refused half told, by the place in the file', () => {
    const env = settingsFile(sources.replace(`api_token: ${TOKEN}`, 'username: me'));
    expect(problemsOf(env).join('\n')).toMatch(
      /sources\.0\.cloud\.api_url: needs .*sources\.0\.cloud\.password/,
    );
  });
});
