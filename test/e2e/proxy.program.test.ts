import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { inspect } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { auditRecord } from '../support/deliveries.ts';
import { hasOpenssl, makeCertificate } from '../support/certificates.ts';
import { postDelivery, runProgram, SECRET } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { databaseForTest, directoryForTest, serveForTest, settingsFile } from '../support/for-one-test.ts';
import { listen } from '../support/listen.ts';

const HOSTS = ['cloud.test', 'siem.test', 'login.test', 's3.test', 'anchor.test', 'stamp.test'];

/** What stands for all hosts behind the proxy: a page for `cloud.test`, metadata for `login.test`, an empty 200 else. */
function answerAs({ headers: { host } }: IncomingMessage, response: ServerResponse): void {
  if (host === 'cloud.test') {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><html>Log in</html>');
    return;
  }
  const base = 'https://login.test';
  const metadata = {
    issuer: base,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    jwks_uri: `${base}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    code_challenge_methods_supported: ['S256'],
  };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(host === 'login.test' ? JSON.stringify(metadata) : '');
}

/** A proxy that opens every TLS connection, with a certificate of an authority that nobody knows. */
async function startTlsProxy() {
  const certificate = makeCertificate(...HOSTS.map((host) => `DNS:${host}`));
  const asked = new Set<string>();
  const connected: string[] = [];
  const inside = https.createServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
    asked.add(request.headers.host ?? '');
    request.resume();
    answerAs(request, response);
  });
  const proxy = http.createServer((_request, response) => response.writeHead(400).end());
  proxy.on('connect', ({ url }, socket) => {
    connected.push(url ?? '');
    socket.on('error', () => undefined).write('HTTP/1.1 200 OK\r\n\r\n');
    inside.emit('connection', socket);
  });
  const port = await listen(proxy);
  onTestFinished(() => {
    proxy.close();
    certificate[Symbol.dispose]();
  });
  return { HTTPS_PROXY: `http://127.0.0.1:${port}`, certificate, asked, connected };
}

it.runIf(hasOpenssl)('all calls go by the proxy, and trust CLOUD_CA_FILE (needs openssl)', async () => {
  const { HTTPS_PROXY, certificate, asked, connected } = await startTlsProxy();
  const database = await databaseForTest();
  const bucket = {
    bucket: 'events',
    endpoint: 'https://s3.test',
    access_key_id: 'id',
    secret_access_key: { env: 'S3_KEY' },
    batch: { events: 1, seconds: 1 },
  };
  const settings = {
    S3_KEY: 'a-key-of-the-tests',
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: await directoryForTest(),
    WEBHOOK_SECRET: SECRET,
    CLOUD_API_URL: 'https://cloud.test',
    CLOUD_API_TOKEN: 'a-token-of-the-tests',
    FORWARD_TO: 'https://siem.test/events',
    ANCHOR_URL: 'https://anchor.test/checkpoints',
    TIMESTAMP_URL: 'https://stamp.test',
    XIQ_SINK_CONFIG: await settingsFile({ destinations: [{ name: 'archive', type: 's3', ...bucket }] }),
    OIDC_ISSUER: 'https://login.test',
    OIDC_CLIENT_ID: 'xiq-sink',
    OIDC_ROLES: 'viewers=viewer',
    CONSOLE_URL: 'https://console.test',
    HTTPS_PROXY,
  };
  const doctor = (more: Record<string, string>) =>
    runProgram({ ...settings, ...more }, 'doctor').catch((error: unknown) => inspect(error));
  expect(await doctor({})).toMatch(/self-signed certificate/);
  expect(await doctor({ HTTPS_PROXY: '' })).toMatch(/ENOTFOUND|EAI_AGAIN/);
  expect(asked.size).toBe(0);

  const trusting = { ...settings, CLOUD_CA_FILE: certificate.certFile };
  expect(await doctor(trusting)).toMatch(/an HTML page instead of JSON: is there a proxy in between/);
  const program = await serveForTest(trusting);
  await postDelivery(program, 'AUDIT_LOG_ALL', [auditRecord({})]);
  const login = await fetch(`${program.adminUrl}/login/openid?next=/`, { redirect: 'manual' });
  expect(login.headers.get('location')).toMatch(/^https:\/\/login\.test\/authorize\?/);
  await waitFor(() => asked.size === HOSTS.length);
  expect(new Set(connected)).toEqual(new Set(HOSTS.map((host) => `${host}:443`)));
});
