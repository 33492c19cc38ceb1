import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { beforeEach, expect, test } from 'vitest';
import { createCloudClient } from '../../src/cloud/client.ts';
import { createRefresher } from '../../src/inventory/refresh.ts';
import { createCallBudget } from '../../src/reconcile/call-budget.ts';
import { createMissingStore } from '../../src/reconcile/start-history-sweep.ts';
import { createSweep } from '../../src/reconcile/sweep.ts';
import { listRefusedLogins, refusedLoginsOf } from '../../src/store/sources/refused-logins.ts';
import { testSubscriber } from '../subscribe/test-subscriber.ts';
import { useDatabase } from '../support/use-database.ts';
import { createFakeClock } from './fake-clock.ts';
import { standIn, type Reply, type Script } from '../support/stand-in.ts';

const logger = pino({ level: 'silent' });
const credentials = { username: 'admin@example.test', password: 'hunter2-hunter2' };
const MINUTE = 60_000;
const ACCEPTED = { json: { access_token: 't1', token_type: 'Bearer', expires_in: 86_400 } };
const error = (status: number, error_code: string, error_message: string): Reply => ({
  status,
  json: { error_code, error_id: 'e-1', error_message },
});
const WRONG = error(400, 'BAD_REQUEST', 'Login failed');
const REVOKED = error(401, 'AUTH_TOKEN_REVOKED', 'Token was revoked');

const database = useDatabase();
beforeEach(() => database.db.deleteFrom('refused_logins').execute());

/** The parts of a process that call the cloud, each with a client of its own. A round is what they do every ten minutes. */
function startProcess(baseUrl: string, clock: ReturnType<typeof createFakeClock>) {
  const db = database.service;
  const newClient = (fetch?: typeof globalThis.fetch) =>
    createCloudClient({
      baseUrl,
      credentials,
      clock,
      logger,
      refusedLogins: refusedLoginsOf(db, 'default'),
      ...(fetch && { fetch }),
    });
  const subscriber = testSubscriber(baseUrl, {
    db,
    messageTypes: ['AUDIT_LOG_ALL', 'ALERT'],
    clock,
    client: newClient(),
  });
  const { inventory } = newClient();
  const refresher = createRefresher({ db, clock, holder: randomUUID(), logger });
  const budget = createCallBudget(clock);
  const { logs } = newClient(budget.fetch);
  const storeMissing = createMissingStore(db, logger, new AbortController().signal);
  const sweep = createSweep({
    context: { db, clock, toleranceMs: 2_000, storeMissing },
    holder: randomUUID(),
    logger,
  });
  const swept = {
    source: 'default',
    messageTypes: ['AUDIT_LOG_ALL', 'AUTHENTICATION_LOG_ALL'] as const,
    logs,
    budget,
  };
  return {
    round: () =>
      Promise.allSettled([
        subscriber.plan('subscribed'),
        refresher.round({ source: 'default', inventory }),
        sweep.round(swept),
      ]),
    leave: () => Promise.all([refresher.leave('default'), sweep.leave('default')]),
  };
}

/** Runs a process for half an hour, and another one for the next half. Returns the logins by their answer. */
async function firstHour(reply: (minute: number) => Reply): Promise<Record<string, number>> {
  const clock = createFakeClock();
  const startAt = clock.now();
  const logins: Record<string, number> = {};
  const minute = () => (clock.now() - startAt) / MINUTE;
  const script: Script = ({ url }) => {
    if (url !== '/login') return minute() < 20 ? { status: 404 } : REVOKED;
    const answer = reply(minute());
    const { status = 200 } = typeof answer === 'object' ? answer : {};
    logins[status] = (logins[status] ?? 0) + 1;
    return answer;
  };
  await using cloud = await standIn(script);
  for (const begin of [0, 30]) {
    const process = startProcess(cloud.url, clock);
    for (let at = begin; at < begin + 30; at += 10) {
      clock.advance(Math.max(0, at - minute()) * MINUTE);
      await process.round();
    }
    await process.leave();
  }
  return logins;
}

/** Up to five attempts of one call, in each of six rounds: the failure stands for all parts of the round. */
const PASSING = 6 * 5;

test.each<[string, (minute: number) => Reply, Record<string, number>]>([
  ['a wrong password', () => WRONG, { 400: 1 }],
  [
    'an HTML page with 403',
    () => ({ status: 403, headers: { 'content-type': 'text/html' }, raw: '<html></html>' }),
    { 403: 1 },
  ],
  ['too many calls', () => ({ status: 429, headers: { 'retry-after': '2' } }), { 429: PASSING }],
  ['revoked in the middle', (minute) => (minute < 20 ? ACCEPTED : WRONG), { 200: 3, 400: 1 }],
])('logins in the first hour of serve, with a restart: %s', async (_name, reply, expected) => {
  expect(await firstHour(reply)).toEqual(expected);
  expect(await listRefusedLogins(database.service)).toHaveLength(1);
});

test('a refused login tells nothing of the password, and ends with the first that is accepted', async () => {
  let answer: Reply = WRONG;
  await using cloud = await standIn(({ url }) => (url === '/login' ? answer : { status: 404 }));
  const client = (password: string, source = 'default') =>
    createCloudClient({
      baseUrl: cloud.url,
      credentials: { ...credentials, password },
      refusedLogins: refusedLoginsOf(database.service, source),
    });
  await expect(client('first').login()).rejects.toThrow(/check the user name and password$/);
  await expect(client('first', 'north').login()).rejects.toThrow(
    /not sent again until the credentials change/,
  );
  expect(cloud.received).toHaveLength(1);
  const row = await database.db.selectFrom('refused_logins').selectAll().executeTakeFirstOrThrow();
  expect(row.fingerprint).toHaveLength(32);
  expect(JSON.stringify(row)).not.toMatch(/first|admin@/);
  const refused = async () => (await listRefusedLogins(database.service)).map(({ source }) => source);
  expect(await refused()).toEqual(['default', 'north']);

  answer = ACCEPTED;
  await client('second').login();
  expect(await refused()).toEqual(['north']);
  await client('first', 'north').askAgain();
  expect(await listRefusedLogins(database.service)).toEqual([]);
});
