import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { subscriptionsOf } from '../../src/serve/console-actions.ts';
import type { SourceConfig } from '../../src/config/config.ts';
import { subscriptionsArea } from '../../src/console/subscriptions/subscriptions-area.ts';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import { listRefusedLogins } from '../../src/store/sources/refused-logins.ts';
import { standIn } from '../support/stand-in.ts';
import { lastAction } from '../support/actions.ts';
import { startAdmin, type RunningAdmin } from '../support/admin.ts';
import { useDatabase } from '../support/use-database.ts';

const SECRET = 'a-webhook-secret-of-the-tests';

const test = useDatabase();

let emulator: ReturnType<typeof createEmulator>;
let opened: AsyncDisposableStack;
let admin: RunningAdmin;
let source: SourceConfig;
beforeEach(async () => {
  await test.db.deleteFrom('subscriptions').execute();
  await test.db.deleteFrom('refused_logins').execute();
  emulator = createEmulator({ rate: 0 });
  source = {
    name: 'default',
    secrets: [SECRET],
    cloud: { apiUrl: await emulator.listen(0), credentials: EMULATOR_LOGINS.administrator },
    messageTypes: ['AUDIT_LOG_ALL', 'SMS_LOG_ALL'],
  };
});
afterEach(async () => {
  await admin.close();
  await opened.disposeAsync();
  await emulator.close();
});

async function start(sources: readonly SourceConfig[], publicUrl: string | undefined): Promise<void> {
  const logger = pino({ level: 'silent' });
  opened = new AsyncDisposableStack();
  const needs = { db: test.db, sources: () => sources, publicUrl, logger, opened };
  const area = subscriptionsArea(subscriptionsOf({ ...needs, allNames: () => [] }));
  admin = await startAdmin([area], test.db);
}

describe('the subscriptions of a source', () => {
  it('are planned, applied once with a record of it, and then in order, and no secret is shown', async () => {
    await start([source], 'https://sink.test');
    const before = await admin.get('/subscriptions/default');
    expect(before).toMatchObject({
      in_order: false,
      compared_with: 'cloud',
      held: [],
      steps: [
        { action: 'create', message_type: 'AUDIT_LOG_ALL' },
        { action: 'create', message_type: 'SMS_LOG_ALL' },
      ],
    });
    const applied = await admin.post('/subscriptions/default/apply', {});
    expect(applied).toMatchObject({
      outcomes: [{ error: null }, { error: null }],
      unfinished: [],
    });
    expect(await lastAction(test.db)).toMatchObject({
      action: 'subscriptions.apply',
      subject: 'default',
      outcome: 'done',
      result: { unfinished: 0, tried: [{ action: 'create', accepted: true }, {}] },
    });
    const after = await admin.get('/subscriptions/default');
    expect(after).toMatchObject({ in_order: true, held: [{ ours: true, status: 'ENABLED' }, {}] });
    expect(JSON.stringify([before, applied, after])).not.toContain(SECRET);
  });

  it('show what would change, from what to what', async () => {
    await start([source], 'https://old.test');
    await admin.post('/subscriptions/default/apply', {});
    await admin.close();
    await opened.disposeAsync();
    await start([{ ...source, secrets: ['another-secret-of-the-tests'] }], 'https://sink.test');
    const [from, to] = ['old', 'sink'].map((host) => `https://${host}.test/ingest/default/AUDIT_LOG_ALL`);
    const differences = [{ member: 'url', from, to }, { member: 'secret' }];
    expect(await admin.get('/subscriptions/default')).toMatchObject({
      steps: [{ action: 'update', differences }, { action: 'update' }],
    });
  });

  it('say what the cloud answers when it does not let us', async () => {
    const credentials = { ...EMULATOR_LOGINS.administrator, password: 'wrong' };
    await start(
      [{ ...source, cloud: { apiUrl: source.cloud?.apiUrl ?? '', credentials } }],
      'https://sink.test',
    );
    await expect(admin.get('/subscriptions/default')).rejects.toThrow(/answered 502.*error from the cloud: /);
    await expect(admin.post('/subscriptions/default/apply', {})).rejects.toThrow('answered 502');
    expect(await lastAction(test.db)).toMatchObject({ action: 'subscriptions.apply', outcome: 'failed' });
  });
});

it('lets a login that the cloud has refused be sent once more, when a person wants it', async () => {
  let isRight = false;
  const token = { json: { access_token: 'token', expires_in: 3_600 } };
  await using cloud = await standIn(({ url }) =>
    url === '/login' && isRight ? token : { status: url === '/login' ? 401 : 404 },
  );
  const logins = () => cloud.received.filter(({ url }) => url === '/login').length;
  const { administrator: credentials } = EMULATOR_LOGINS;
  await start([{ ...source, cloud: { apiUrl: cloud.url, credentials } }], 'https://sink.test');
  await expect(admin.get('/subscriptions/default')).rejects.toThrow('POST /login answered 401');
  isRight = true;
  await expect(admin.get('/subscriptions/default')).rejects.toThrow('not sent again until');
  expect(logins()).toBe(1);
  await admin.post('/subscriptions/default/ask-again', {}).catch(() => undefined);
  expect(logins()).toBe(2);
  expect(await listRefusedLogins(test.db)).toEqual([]);
});

describe('without what it needs, the page', () => {
  it('says which settings are missing', async () => {
    await start([{ ...source, cloud: undefined }], undefined);
    const page = await admin.page('/subscriptions');
    expect(page).toContain('<code>CLOUD_API_URL</code>');
    expect(page).toContain('<code>PUBLIC_URL</code>');
    expect(await admin.get('/subscriptions')).toMatchObject({
      items: [],
      missing: ['CLOUD_API_URL', 'PUBLIC_URL'],
    });
    await expect(admin.get('/subscriptions/default')).rejects.toThrow(
      'missing settings: CLOUD_API_URL, PUBLIC_URL',
    );
  });

  it('never makes up a secret: a console of its own has to be told', async () => {
    await start([{ ...source, secrets: [] }], 'https://sink.test');
    expect(await admin.page('/subscriptions')).toContain('<code>WEBHOOK_SECRET</code>');
  });
});
