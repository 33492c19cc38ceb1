import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startSubscriptionWatch, watchSubscriptions } from '../../src/subscribe/start-subscription-watch.ts';
import type { Repetition } from '../../src/lib/repeat.ts';
import { useDatabase } from '../support/use-database.ts';
import { waitFor } from '../support/wait-for.ts';
import { startStandIn, type StandIn } from './stand-in.ts';
import { PUBLIC_URL, testSubscriber } from './test-subscriber.ts';

const test = useDatabase();

let cloud: StandIn;
let watch: Repetition | undefined;
beforeEach(async () => {
  await test.db.deleteFrom('subscriptions').execute();
  cloud = await startStandIn();
});
afterEach(async () => {
  await watch?.stop();
  await cloud[Symbol.asyncDispose]();
});

/** A clock on which ten minutes pass when the test says so; other waits are not asked of it here. */
function createTicker() {
  const sleeps: number[] = [];
  let wake: (() => void) | undefined;
  return {
    sleeps,
    now: Date.now,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (signal?.aborted === true) reject(new Error('stopped'));
        sleeps.push(ms);
        wake = resolve;
        signal?.addEventListener('abort', () => reject(new Error('stopped')));
      }),
    tick: () => wake?.(),
  };
}

const lineSchema = z.looseObject({ level: z.number(), msg: z.string() });

/** A watch of one source, and what it has logged. */
function start(repairs: boolean) {
  const lines: z.output<typeof lineSchema>[] = [];
  const logger = pino({}, { write: (line) => void lines.push(lineSchema.parse(JSON.parse(line))) });
  const clock = createTicker();
  const subscriber = testSubscriber(cloud.url, {
    db: test.db,
    messageTypes: ['AUDIT_LOG_ALL', 'SMS_LOG_ALL'],
  });
  const drifts: number[] = [];
  const onChecked = async (_source: string, changes: readonly unknown[]) => void drifts.push(changes.length);
  watch = watchSubscriptions({ subscribers: [subscriber], repairs, logger, clock, onChecked });
  const checks = (number: number) => waitFor(() => clock.sleeps.length >= number);
  return { lines, drifts, clock, checks, warnings: () => lines.filter(({ level }) => level === 40) };
}

it('is started for sources with an API, once there is a public address', async () => {
  const checked: [string, number][] = [];
  const source = {
    name: 'default',
    secrets: ['webhook-secret-1'],
    cloud: { apiUrl: cloud.url, credentials: { apiToken: 'api-token-1' } },
    messageTypes: ['SMS_LOG_ALL'] as const,
  };
  await using opened = new AsyncDisposableStack();
  await startSubscriptionWatch(
    {
      db: test.db,
      config: { sources: [source], publicUrl: PUBLIC_URL, subscribe: 'auto', erasureKeyFile: '/none' },
      follow: () => async () => undefined,
      knowsStored: () => true,
      allNames: () => ['default'],
      onChecked: (name, changes) => checked.push([name, changes]),
      logger: pino({ enabled: false }),
    },
    opened,
  );
  await waitFor(() => checked.length === 2);
  expect(checked).toEqual([
    ['default', 1],
    ['default', 0],
  ]);
});

it('ends while what it found waits for the database', async () => {
  await test.query`create function fill() returns trigger language plpgsql as $$
    begin raise exception 'full' using errcode = '53100'; end $$`;
  await test.query`create trigger fill before insert on deliveries for each row execute function fill()`;
  const lines: string[] = [];
  const source = {
    name: 'full',
    secrets: ['webhook-secret-1'],
    cloud: { apiUrl: cloud.url, credentials: { apiToken: 'api-token-1' } },
    messageTypes: ['SMS_LOG_ALL'] as const,
  };
  const opened = new AsyncDisposableStack();
  await startSubscriptionWatch(
    {
      db: test.db,
      config: { sources: [source], publicUrl: PUBLIC_URL, subscribe: 'report', erasureKeyFile: '/none' },
      follow: () => async () => undefined,
      knowsStored: () => true,
      allNames: () => ['full'],
      onChecked: () => undefined,
      logger: pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) }),
    },
    opened,
  );
  await waitFor(() => lines.some((line) => line.includes('waiting for the database')));
  await expect(opened.disposeAsync()).resolves.toBeUndefined();
  await test.query`drop trigger fill on deliveries`;
});

describe('the watch', () => {
  it('reports what differs at once and every ten minutes, and changes nothing', async () => {
    const { clock, checks, warnings, drifts } = start(false);
    await checks(1);
    expect(drifts).toEqual([2]);
    expect(clock.sleeps).toEqual([600_000]);
    expect(warnings()).toMatchObject([
      { source: 'default', differences: ['AUDIT_LOG_ALL is missing', 'SMS_LOG_ALL is missing'] },
    ]);
    clock.tick();
    await checks(2);
    expect(warnings()).toHaveLength(2);
    expect(cloud.changes()).toEqual([]);
  });

  it('repairs what differs where it may, and is silent when nothing does', async () => {
    const { clock, checks, lines, warnings, drifts } = start(true);
    await checks(1);
    expect(drifts).toEqual([2, 0]);
    expect(cloud.held).toHaveLength(2);
    expect(lines.map(({ level }) => level)).toEqual([40, 30]);
    Object.assign(cloud.held[0] ?? {}, { status: 'DISABLED', secret: 'another' });
    cloud.held.push(...cloud.held.slice(1).map((one) => ({ ...one, id: 1 })));
    clock.tick();
    await checks(2);
    expect(warnings().at(-1)).toMatchObject({
      differences: ['AUDIT_LOG_ALL has a different status and secret', 'SMS_LOG_ALL is duplicate'],
    });
    expect(cloud.held.map(({ status }) => status)).toEqual(['ENABLED', 'ENABLED']);
    const before = lines.length;
    clock.tick();
    await checks(3);
    expect(lines).toHaveLength(before);
  });

  it('says what could not be repaired, and tries it again', async () => {
    cloud.behaviour.failCreate = (index) => (index === 0 ? { status: 400, isDone: false } : undefined);
    const { clock, checks, warnings } = start(true);
    await checks(1);
    expect(warnings().at(-1)).toMatchObject({
      msg: 'subscription not repaired',
      messageType: 'AUDIT_LOG_ALL',
    });
    expect(warnings().at(-1)?.['reason']).toContain('answered 400');
    clock.tick();
    await checks(2);
    expect(cloud.held).toHaveLength(2);
  });

  it('goes on after a check that failed', async () => {
    cloud.behaviour.intercept = () => ({ status: 403 });
    const { clock, checks, warnings } = start(true);
    await checks(1);
    expect(warnings().map(({ msg }) => msg)).toEqual([
      expect.stringContaining("can't check the subscriptions"),
    ]);
    cloud.behaviour.intercept = () => undefined;
    clock.tick();
    await checks(2);
    expect(cloud.held).toHaveLength(2);
  });

  it('breaks off a check under way when it is stopped, without a word', async () => {
    cloud.behaviour.intercept = () => 'silent';
    const { lines } = start(true);
    await waitFor(() => cloud.received.length > 0);
    await watch?.stop();
    expect(lines).toEqual([]);
  });
});
