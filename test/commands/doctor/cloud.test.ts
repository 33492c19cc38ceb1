import { beforeAll, expect, test } from 'vitest';
import { checkApi, checkSubscriptions } from '../../../src/commands/doctor/cloud.ts';
import type { Credentials } from '../../../src/cloud/tokens.ts';
import { createSubscribers } from '../../../src/subscribe/subscriber.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { EMULATOR_LOGINS } from '../../../emulator/accounts.ts';
import { createEmulator } from '../../../emulator/emulator.ts';
import { DAY_MS } from '../../../src/lib/clock.ts';
import { createLogger } from '../../../src/lib/logger.ts';
import { createApiToken } from '../../support/api-token.ts';
import { cloudSettings } from '../../support/emulator.ts';
import { useDatabase } from '../../support/use-database.ts';
import { useDirectory } from '../../support/use-directory.ts';
import { SECRET } from '../../support/program.ts';
import { accessTo } from './access-to.ts';

const { username } = EMULATOR_LOGINS.administrator;
const emulator = createEmulator({ rate: 0 });
let apiUrl: string;
const database = useDatabase();
const directory = useDirectory();
beforeAll(async () => {
  apiUrl = await emulator.listen(0);
  return () => emulator.close();
});

const patience = () => AbortSignal.timeout(5_000);

async function tokenFor(days: number, permissions?: string[]): Promise<string> {
  const expire_time = Math.floor(Date.now() / 1_000) + days * 86_400 + 60;
  return createApiToken(apiUrl, { expire_time, permissions });
}

const api = (credentials: Credentials) =>
  checkApi(
    { name: 'default', secrets: [SECRET], messageTypes: [], cloud: { apiUrl, credentials } },
    accessTo(database),
    patience(),
  );

test.each([
  ['90 days', 90, 'ok'],
  ['20 days', 20, 'warn'],
  ['2 days', 2, 'warn'],
  ['5 hours', 5 / 24, 'warn'],
])('an API token that is valid for %s is told with its end: %f days, %s', async (time, days, status) => {
  const end = new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
  const message = new RegExp(`^the token of ${username} is valid for ${time}, until ${end}T\\d\\d:\\d\\dZ$`);
  const finding = { status, message: expect.stringMatching(message) as unknown };
  expect(await api({ apiToken: await tokenFor(days) })).toMatchObject(finding);
});

test.each([
  ['organizations', ['hiq.ctx:r'], 'GET /hiq/organizations answered 403'],
  ['context', ['org'], 'it is unknown which of them the cloud shows: GET /hiq/context answered 403'],
])('%s that the token may not read are a warning that names the permission', async (_, some, message) => {
  const token = await tokenFor(90, [
    'auth:r',
    'perm:check',
    'subscriptions-webhook',
    'viq:get-account-info',
    ...some,
  ]);
  expect(await api({ apiToken: token })).toMatchObject({
    status: 'warn',
    message: expect.stringContaining(message) as unknown,
    remedy: expect.stringContaining('hiq:r') as unknown,
  });
});

test('an API token that may not write subscriptions is a failure that names the permission', async () => {
  const token = await tokenFor(90, ['auth:r', 'perm:check', 'subscriptions-webhook:r']);
  expect(await api({ apiToken: token })).toMatchObject({
    status: 'fail',
    message: expect.stringMatching(/lacks the permission subscriptions-webhook:/) as unknown,
  });
});

test('a login that the cloud has refused is reported, and sent once', async () => {
  const wrong = { username, password: 'not-the-password' };
  const refusal = expect.stringMatching(
    /^POST \/login answered 400.*check the user name and password/,
  ) as unknown;
  expect(await api(wrong)).toMatchObject({ status: 'fail', message: refusal });
  expect(await api(wrong)).toMatchObject({
    status: 'fail',
    message: expect.stringMatching(/not sent again until the credentials change/) as unknown,
  });
});

test('subscriptions: none without a secret, missing ones are a failure, surplus ones a warning', async () => {
  const config = (env: Record<string, string>) =>
    loadConfig({
      DATA_DIR: directory,
      ...cloudSettings(apiUrl),
      PUBLIC_URL: 'http://127.0.0.1:9',
      ...env,
    });
  const check = (env: Record<string, string>) =>
    checkSubscriptions(accessTo(database), config(env), 'default', patience());
  expect(await check({})).toMatchObject({ status: 'skipped', message: 'there is no webhook secret yet' });
  expect(await check({ PUBLIC_URL: '' })).toMatchObject({ status: 'skipped' });
  const env = { WEBHOOK_SECRET: SECRET };
  expect(await check(env)).toMatchObject({
    status: 'fail',
    message: expect.stringMatching(/^not up to date: .*SMS_LOG_ALL is missing/) as unknown,
  });
  const { sources, publicUrl = '' } = config(env);
  const logger = createLogger('silent');
  const [subscriber] = createSubscribers({ sources, publicUrl, db: database.db, logger });
  await subscriber?.apply('subscribed');
  expect(await check(env)).toMatchObject({
    status: 'ok',
    message: expect.stringMatching(/^(?:9|10) subscriptions up to date/) as unknown,
  });
  expect(await check({ ...env, MESSAGE_TYPES: 'AUDIT_LOG_ALL' })).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('SMS_LOG_ALL is not wanted') as unknown,
  });
  expect(await check({ WEBHOOK_SECRET: `${SECRET}-new` })).toMatchObject({
    status: 'fail',
    message: expect.stringContaining('AUDIT_LOG_ALL has a different secret') as unknown,
  });
});
