import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { createEmulator } from '../../emulator/emulator.ts';
import { createCall, startReceiver, subscriptionsTo } from '../../emulator/test/harness.ts';
import { CLOUD_TYPES, isMessageType, MESSAGE_TYPES } from '../../src/events/domain.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { endOfCommand } from '../support/command.ts';
import { cloudSettings } from '../support/emulator.ts';
import { endOfProgram, SECRET } from '../support/program.ts';
import { waitFor } from '../support/wait-for.ts';
import { useDatabase } from '../support/use-database.ts';
import { storeDeliveries } from '../support/actions.ts';

const test = useDatabase();

const Result = z.object({
  message_type: z.string(),
  only_log: z.number(),
  only_webhook: z.number(),
  error: z.null(),
});

const LOGGED = MESSAGE_TYPES.filter((type) =>
  /^(AUDIT|AUTH|ACCOUNTING|CREDENTIAL|EMAIL|SMS|ALERT)/.test(type),
);

/** The number of visible events of each message type. */
async function rows(): Promise<Record<string, number>> {
  const { rows } = await sql<{ message_type: string; count: number }>`
    select message_type, count(*)::int as count from events group by 1`.execute(test.db);
  return Object.fromEntries(rows.map(({ message_type, count }) => [message_type, count]));
}

describe('backfill', () => {
  it('fetches from the emulator what a receiver lost, and each event once', async () => {
    const receiver = await startReceiver();
    const emulator = createEmulator({ rate: 200, scale: { devices: 10, clients: 40, users: 10 } });
    const url = await emulator.listen(0);
    try {
      const { username, password } = EMULATOR_LOGINS.administrator;
      const login = await createCall(url)('POST', '/login', { body: { username, password } });
      const { access_token: token } = z.object({ access_token: z.string() }).parse(login.body);
      const pushed = CLOUD_TYPES.filter((type) => type !== 'ALERT' && LOGGED.includes(type));
      const body = subscriptionsTo(receiver.url, SECRET, pushed);
      const call = createCall(url, token);
      expect((await call('POST', '/subscriptions/webhook', { body })).status).toBeLessThan(300);
      const alerts = {
        url: `${receiver.url}/ALERT`,
        secret: SECRET,
        is_enabled: true,
        is_subscribe_all: true,
      };
      const made = await call('POST', '/alert-subscriptions/webhooks', {
        body: { ...alerts, alert_policy_ids: [] },
      });
      const { id: alertSubscription } = z.object({ id: z.int() }).parse(made.body);
      const sent = () => new Set(receiver.received.map(({ path }) => path));
      await waitFor(() => sent().size === LOGGED.length && receiver.received.length > 400);
      const list = await call('GET', '/subscriptions/webhook');
      const ids = [...JSON.stringify(list.body).matchAll(/"id":(\d+)/g)].map(([, id]) => id);
      for (const id of ids) await call('DELETE', `/subscriptions/webhook/${id}`);
      await call('DELETE', `/alert-subscriptions/webhooks/${alertSubscription}`);
      await waitFor(() => emulator.status().in_flight === 0);

      // Every third delivery was lost.
      const kept = receiver.received.filter((_, index) => index % 3 > 0);
      for (const { path, records } of kept) {
        const messageType = path.slice(1);
        if (!isMessageType(messageType)) throw new Error(`unknown message type ${messageType}`);
        await storeDeliveries(test.db, queuedDelivery(messageType, records));
      }
      const settings = {
        DATABASE_URL: test.databaseUrl,
        WEBHOOK_SECRET: SECRET,
        MESSAGE_TYPES: LOGGED.join(','),
        ...cloudSettings(url),
      };
      const until = new Date().toISOString();
      const backfill = async (...args: string[]) => {
        const ended = await endOfProgram(
          settings,
          'backfill',
          '--since',
          '1h',
          '--until',
          until,
          '--json',
          ...args,
        );
        expect(ended.stderr + String(ended.code)).toMatch(/0$/);
        return ended.stdout
          .toString()
          .trim()
          .split('\n')
          .map((line) => Result.parse(JSON.parse(line)));
      };
      const before = await rows();
      const planned = await backfill('--dry-run');
      expect(await rows()).toEqual(before);
      const done = await backfill();
      const total = (list: readonly z.infer<typeof Result>[], member: 'only_log' | 'only_webhook') =>
        list.reduce((sum, one) => sum + one[member], 0);
      expect(total(planned, 'only_log')).toBe(total(done, 'only_log'));
      expect(total(done, 'only_log')).toBeGreaterThan(100);
      expect(done.find((one) => one.message_type === 'ALERT')?.only_log).toBeGreaterThan(0);
      expect(total(done, 'only_webhook')).toBe(0);
      const logged = emulator.status().logs;
      const after = await rows();
      expect(Object.values(after).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(
        Object.values(logged).reduce((sum, count) => sum + count, 0),
      );
      // What the receiver lost arrives after all: nothing is shown twice.
      for (const { path, records } of receiver.received) {
        const messageType = path.slice(1);
        if (isMessageType(messageType)) await storeDeliveries(test.db, queuedDelivery(messageType, records));
      }
      expect(total(await backfill(), 'only_log')).toBe(0);
      expect(await rows()).toEqual(after);
      const { rows: logged2 } = await sql`select action, outcome from operator_log`.execute(test.db);
      expect(logged2).toContainEqual({ action: 'events.backfill', outcome: 'done' });
    } finally {
      await emulator.close();
    }
  });

  it('exits with 2 without an API, and without a range', async () => {
    const settings = { DATABASE_URL: test.databaseUrl, WEBHOOK_SECRET: SECRET };
    const ended = await endOfCommand(settings, 'backfill', '--since', '1h');
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('CLOUD_API_URL');
    expect((await endOfCommand(settings, 'backfill')).code).toBe(2);
  });
});
