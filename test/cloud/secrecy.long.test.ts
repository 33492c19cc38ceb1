import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { pino, type Logger } from 'pino';
import { expect, test } from 'vitest';
import { createCloudClient, type CloudClient } from '../../src/cloud/client.ts';
import { createFakeClock } from './fake-clock.ts';
import { standIn, type Received, type Reply } from '../support/stand-in.ts';

const PASSWORD = 'correct"horse\\battery';
const LOGIN_TOKEN = 'eyJhbGciOiJIUzI1NiJ9.login';
const API_TOKEN = 'eyJhbGciOiJIUzI1NiJ9.apitoken';
const WEBHOOK_SECRET = 'Wh5ecret'; // short enough for a SyntaxError to quote it whole
const SECRETS = [PASSWORD, LOGIN_TOKEN, API_TOKEN, WEBHOOK_SECRET];

/** What the cloud may answer to any call: failures that quote all they were sent, broken bodies, cut connections. */
function unkindAnswers({ headers, body }: Received): Reply[] {
  const quoted = `${headers.authorization} ${body}`;
  return [
    ...[400, 401, 403, 404, 429, 500, 503].flatMap((status) => [
      { status, json: { error_code: quoted, error_id: quoted, error_message: quoted } },
      { status, json: { error_code: 'X', error_message_description: quoted } },
      { status, json: { error: 'X', uuid: quoted, message: quoted } },
      { status, raw: quoted },
    ]),
    { status: 302, headers: { location: `/elsewhere?token=${API_TOKEN}` } },
    { raw: quoted },
    { raw: WEBHOOK_SECRET },
    { raw: `"${API_TOKEN}` },
    { raw: `{"access_token":"${LOGIN_TOKEN}", "secret": ${WEBHOOK_SECRET}}` },
    { json: { access_token: `${LOGIN_TOKEN}\r\nx`, expires_in: 5 } },
    { json: { access_token: LOGIN_TOKEN, expires_in: API_TOKEN } },
    { json: [{ secret: WEBHOOK_SECRET }] },
    { json: [{ data: [{ secret: WEBHOOK_SECRET }] }] },
    { json: { id: 'op-1', done: true, metadata: PASSWORD } },
    'cut',
    'silent',
  ];
}

const OPERATIONS: Record<string, (client: CloudClient) => Promise<unknown>> = {
  login: (client) => client.login(),
  info: (client) => client.authorization.tokenInfo(),
  create: (client) => client.subscriptions.create([subscription()]),
  update: (client) => client.subscriptions.update('1', subscription()),
  list: (client) => client.subscriptions.list(),
  'list alerts': (client) => client.alertSubscriptions.list(),
  'create alerts': (client) => client.alertSubscriptions.create([subscription()]),
  logout: async (client) => {
    await client.login();
    await client.logout();
  },
};

function subscription() {
  return {
    application: 'xiq-sink',
    url: 'https://sink.test/ingest/default/AUDIT_LOG_ALL',
    secret: WEBHOOK_SECRET,
    message_type: 'AUDIT_LOG_ALL',
  } as const;
}

function logInto(lines: string[]): Logger {
  const stream = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk));
      done();
    },
  });
  return pino({ level: 'trace' }, stream);
}

/** A secret as it is and as it stands inside JSON. */
function spellings(secret: string): string[] {
  return [secret, JSON.stringify(secret).slice(1, -1)];
}

/** Everything a program could print about an error: text, stack, properties, causes, and pino's view of it. */
function printed(error: unknown): string {
  const lines: string[] = [];
  logInto(lines).error(error);
  return [inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error), ...lines].join('\n');
}

test.each(Object.keys(OPERATIONS))(
  'no unkind answer makes %s print a password, a token or a webhook secret',
  async (name) => {
    const operation = OPERATIONS[name];
    if (operation === undefined) throw new Error('no such operation');
    const lines: string[] = [];
    const errors: unknown[] = [];
    let answerAt = 0;
    let answers = 1;
    // The first call of a login is answered well in every second round, so that the call behind it fails.
    for (let round = 0; round < answers * 2; round++) {
      const isLoginGood = round % 2 === 0;
      await using cloud = await standIn((call) => {
        if (call.url === '/login' && isLoginGood)
          return { json: { access_token: LOGIN_TOKEN, expires_in: 60 } };
        const replies = unkindAnswers(call);
        answers = replies.length;
        return replies[answerAt] ?? {};
      });
      answerAt = Math.floor(round / 2);
      const client = createCloudClient({
        baseUrl: cloud.url,
        credentials:
          isLoginGood && round % 4 === 0 ? { apiToken: API_TOKEN } : { username: 'u', password: PASSWORD },
        timeoutMs: 20,
        clock: createFakeClock(),
        logger: logInto(lines),
      });
      await operation(client).catch((error: unknown) => errors.push(error));
    }
    expect(errors.length).toBeGreaterThan(0);
    const all = [...lines, ...errors.map(printed)].join('\n');
    for (const secret of SECRETS.flatMap(spellings)) expect(all).not.toContain(secret);
  },
);
