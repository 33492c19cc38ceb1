import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createCloudClient, type CloudClient } from '../../src/cloud/client.ts';
import type { Subscription } from '../../src/cloud/contract/subscription.ts';
import { commandOperator } from '../../src/commands/shared/process.ts';
import { CLOUD_TYPES, WEBHOOK_TYPES } from '../../src/events/domain.ts';
import { listActions } from '../../src/store/access/operator-log.ts';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import { endOfCommand } from '../support/command.ts';
import { cloudSettings } from '../support/emulator.ts';
import { SECRET } from '../support/program.ts';
import { useDatabase } from '../support/use-database.ts';
import { useDirectory } from '../support/use-directory.ts';

const test = useDatabase();
const directory = useDirectory();
const emulator = createEmulator({ rate: 0 });
const { username, password } = EMULATOR_LOGINS.administrator;
let client: CloudClient;
let settings: Readonly<Record<string, string>>;
beforeAll(async () => {
  const baseUrl = await emulator.listen(0);
  client = createCloudClient({ baseUrl, credentials: { username, password } });
  settings = {
    DATABASE_URL: test.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    PUBLIC_URL: 'http://127.0.0.1:9',
    ...cloudSettings(baseUrl),
  };
  return () => emulator.close();
});
beforeEach(async () => {
  for (const { id } of await held()) await client.subscriptions.remove(id ?? '');
  await test.db.deleteFrom('subscriptions').execute();
});

const run = (...words: string[]) => endOfCommand(settings, 'subscribe', ...words);

/** The subscriptions in the cloud. */
async function held(): Promise<Subscription[]> {
  const list = await client.subscriptions.list();
  if (!list.available) throw new Error('the emulator lists no subscriptions');
  return list.subscriptions;
}

describe('subscribe', () => {
  it('plans a create of each type, makes them, writes down who did, and then changes nothing more', async () => {
    expect(await run('plan', '--check')).toMatchObject({ code: 3 });
    expect(await run('plan')).toMatchObject({ code: 0 });
    expect(await held()).toEqual([]);
    expect(await run('apply')).toMatchObject({ code: 0 });
    const [applied] = await listActions(test.db, { limit: 1 });
    const { name: operator } = commandOperator();
    const by = { operator, via: 'command', subject: 'default', outcome: 'done' };
    expect(applied).toMatchObject({ ...by, action: 'subscriptions.apply', result: { unfinished: 0 } });
    expect(applied?.result?.['tried']).toContainEqual({
      action: 'create',
      message_type: 'AUDIT_LOG_ALL',
      accepted: true,
    });
    expect(JSON.stringify(applied)).not.toContain(SECRET);
    const made = await held();
    expect(new Set(made.map(({ message_type: type }) => type))).toEqual(new Set(WEBHOOK_TYPES));
    expect(made).toHaveLength(WEBHOOK_TYPES.length);
    expect(made[0]).toMatchObject({
      application: 'xiq-sink',
      url: `http://127.0.0.1:9/ingest/default/${made[0]?.message_type}`,
      secret: SECRET,
      status: 'ENABLED',
    });
    expect(await run('apply')).toMatchObject({ code: 0, stdout: 'default: nothing to do\n' });
    expect(await held()).toEqual(made);
    expect(await run('plan', '--check')).toMatchObject({ code: 0 });
    expect(JSON.parse((await run('plan', '--json')).stdout)).toMatchObject([{ in_order: true }]);
  });

  it('registers the secret that the program has generated when none is configured', async () => {
    const DATA_DIR = path.join(directory, 'generated');
    const shown = await endOfCommand({ ...settings, WEBHOOK_SECRET: '', DATA_DIR }, 'subscribe', 'apply');
    const secret = await readFile(path.join(DATA_DIR, 'webhook-secret'), 'utf8');
    expect(new Set((await held()).map((one) => one.secret))).toEqual(new Set([secret]));
    expect(shown.stdout + shown.stderr).not.toContain(secret);
  });

  it("lists another application's subscription, and never touches it", async () => {
    const foreign = {
      application: 'siem',
      url: 'https://siem.test/hook',
      secret: 'secret-of-another-application',
      message_type: 'AUDIT_LOG_ALL',
      status: 'DISABLED',
    } as const;
    await client.subscriptions.create([foreign]);
    const [before] = await held();
    await run('apply');
    expect((await run('list')).stdout).toMatch(/AUDIT_LOG_ALL +DISABLED +siem +no +https:\/\/siem\.test\/…/);
    expect(JSON.parse((await run('list', '--json')).stdout)).toHaveLength(CLOUD_TYPES.length + 1);
    const refused = await run('remove');
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('--yes')]);
    expect(await held()).toHaveLength(WEBHOOK_TYPES.length + 1);
    expect(await run('remove', '--yes', '--source', 'default')).toMatchObject({ code: 0 });
    expect(await held()).toEqual([before]);
    const [removed] = await listActions(test.db, { limit: 1 });
    expect(removed).toMatchObject({ action: 'subscriptions.remove', result: { unfinished: 0 } });
  });

  it('logs out in the end, also after a failure', async () => {
    emulator.faults.change({ fail_creates: 'unstored' });
    expect(await run('apply')).toMatchObject({ code: 1 });
    emulator.faults.change({ fail_creates: null });
    const logins = await Array.fromAsync(client.logs.read({ kind: 'audit', from: 0, to: Date.now() + 1000 }));
    const counts = (code: number) => logins.filter((record) => record['code'] === code).length;
    // One login is this test's own.
    expect(counts(10_001) - counts(10_002)).toBe(1);
  });

  it.each([
    [{ PUBLIC_URL: '' }, ['plan'], 'PUBLIC_URL'],
    [
      { CLOUD_API_URL: '', CLOUD_USERNAME: '', CLOUD_PASSWORD: '', PUBLIC_URL: 'https://sink.test' },
      ['apply'],
      'CLOUD_API_URL',
    ],
    [{}, ['list', '--source', 'west'], 'west'],
  ])('with %j, %j is wrong usage, and says what is missing', async (more, words, missing) => {
    const { code, stderr } = await endOfCommand({ ...settings, ...more }, 'subscribe', ...words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(missing)]);
  });
});
