import { pino } from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { checksOf, locksFinding, type CheckedParts } from '../../src/observe/readiness-checks.ts';
import { StoringProgress } from '../../src/observe/storing-progress.ts';
import { createStartSteps } from '../../src/observe/start-steps.ts';
import { createReadiness } from '../../src/observe/readiness.ts';
import type { Arrival } from '../../src/observe/worker-metrics.ts';
import { OutageError } from '../../src/lib/errors.ts';
import type { FairQueue } from '../../src/queue/fair-queue.ts';
import type { SpoolRoom } from '../../src/queue/spool/spool.ts';
import type { DestinationStatus } from '../../src/store/destinations/destinations.ts';
import { refusedLoginsOf } from '../../src/store/sources/refused-logins.ts';
import type { Session } from '../../src/store/server/server-sessions.ts';
import { destinationStatus as destination } from './destination-status.ts';
import { databaseForTest } from '../support/for-one-test.ts';

const MINUTE_MS = 60_000;

/** A way into the queue that is as the test says. */
function queueThat(is: {
  works: boolean;
  takes?: boolean;
  room?: SpoolRoom;
  bytes?: number;
}): Pick<FairQueue, 'check' | 'state' | 'spoolRoom'> {
  const { works, takes = true, room = { state: 'ok', bytesLeft: 1_000 }, bytes = 0 } = is;
  return {
    async check() {
      if (!takes) throw new OutageError('the spool is full');
      return works ? 'queued' : 'spooled';
    },
    state: () => ({
      works,
      failure: works ? undefined : 'connect ECONNREFUSED cache.internal:6379',
      spool: { bytes, segments: bytes > 0 ? 1 : 0, oldestAt: undefined },
    }),
    spoolRoom: async () => room,
  };
}

/** The readiness of a process that does everything, on these parts. */
function readinessOf({
  destinations = [],
  arrivals = [],
  storing = new StoringProgress(),
  startSteps = createStartSteps(false),
  pools = new Map(),
  ...parts
}: Partial<CheckedParts & Pick<CheckedParts['observation'], 'storing' | 'startSteps' | 'pools'>> & {
  destinations?: DestinationStatus[];
  arrivals?: Arrival[];
}) {
  const observation = {
    askDestinations: async () => destinations,
    arrivals: () => arrivals,
    blockedChanges: () => [],
    storing,
    startSteps,
    pools,
  };
  const none = {
    db: undefined,
    queue: undefined,
    measure: undefined,
    config: { sources: [], redisUrl: undefined },
  };
  const checks = checksOf({ role: 'all', ...none, observation, ...parts });
  return createReadiness(checks, pino({ level: 'silent' }));
}

describe('the health of a process', () => {
  it('is whole when all parts are', async () => {
    const queue = queueThat({ works: true });
    const readiness = readinessOf({ queue, destinations: [destination('siem')] });
    expect(await readiness.ask()).toEqual({
      status: 'ok',
      checks: { queue: 'ok', spool: 'ok', forwarding: 'ok', silence: 'ok' },
    });
  });

  it('tells everybody in a word, and operators why', async () => {
    const queue = queueThat({ works: false, bytes: 900, room: { state: 'nearly full', bytesLeft: 100 } });
    const readiness = readinessOf({ queue });
    const answer = await readiness.ask();
    expect(answer).toMatchObject({
      status: 'degraded',
      checks: { queue: 'spooling', spool: 'nearly full' },
    });
    expect(JSON.stringify(answer)).not.toContain('cache.internal');
    const { status, checks } = await readiness.describe();
    expect(status).toBe('degraded');
    expect(checks).toEqual(
      expect.arrayContaining([
        { name: 'queue', state: 'spooling', why: 'connect ECONNREFUSED cache.internal:6379' },
        { name: 'spool', state: 'nearly full', why: '900 bytes in 1 file, room for 100 bytes more' },
      ]),
    );
  });

  it('is unavailable when neither queue nor spool takes deliveries', async () => {
    const queue = queueThat({ works: false, takes: false, room: { state: 'full', bytesLeft: 0 } });
    expect(await readinessOf({ queue }).ask()).toMatchObject({
      status: 'unavailable',
      checks: { queue: 'away', spool: 'full' },
    });
  });

  it.each([
    ['ok', 'for an event of just now', { behind_since: new Date() }],
    ['behind', 'for an event of six minutes ago', { behind_since: new Date(Date.now() - 6 * MINUTE_MS) }],
    ['ok', 'paused by a person', { behind_since: new Date(0), state: 'paused' as const }],
    ['refused', 'refused', { state: 'refused' as const, last_error: 'answered 401' }],
  ])('says %s of a destination that is %s, and is never unavailable for it', async (state, _is, status) => {
    const readiness = readinessOf({ destinations: [destination('a'), destination('siem', status)] });
    const answer = await readiness.ask();
    expect(answer.checks['forwarding']).toBe(state);
    expect(answer.status).toBe(state === 'ok' ? 'ok' : 'degraded');
    expect(JSON.stringify(answer)).not.toContain('siem');
    const line = (await readiness.describe()).checks.find(({ name }) => name === 'forwarding: siem');
    expect(line?.state).toBe(state);
  });

  it('says when a message type is unusually quiet, and which to operators', async () => {
    const lastReceivedAt = new Date('2026-01-31T08:00:00Z');
    const arrivals: Arrival[] = [
      { source: 'default', messageType: 'SMS_LOG_ALL', lastReceivedAt, state: 'unusual' },
      { source: 'default', messageType: 'EMAIL_LOG_ALL', lastReceivedAt: undefined, state: 'never' },
    ];
    const readiness = readinessOf({ arrivals });
    expect(await readiness.ask()).toMatchObject({
      status: 'degraded',
      checks: { silence: 'unusually quiet' },
    });
    expect((await readiness.describe()).checks).toContainEqual({
      name: 'silence: default SMS_LOG_ALL',
      state: 'unusually quiet',
      why: 'last received 2026-01-31T08:00:00.000Z',
    });
  });

  it('names the sessions that the service waits for, to operators alone', async () => {
    const session: Session = {
      pid: 4711,
      application: 'psql',
      user: 'xiq_reader',
      seconds: 40,
      state: 'active',
      query: 'select pg_sleep(75)',
    };
    const change = {
      action: 'drop',
      table: 'audit_events',
      partition: 'audit_events_2025_01',
      by: [session],
    };
    const find = async () => [{ waiting: 'forwarding', session } as const];
    const blockedChanges = () => [{ ...change, action: 'drop' } as const];
    const locks = { ask: () => locksFinding(find, { blockedChanges }), isNeeded: false };
    const readiness = createReadiness({ locks }, pino({ level: 'silent' }));
    expect(await readiness.ask()).toEqual({ status: 'degraded', checks: { locks: 'waiting' } });
    const { checks } = await readiness.describe();
    expect(checks.slice(1)).toEqual([
      {
        name: 'locks: forwarding',
        state: 'waiting',
        why: 'pid 4711 (psql, user xiq_reader), in a transaction for 40 s; active: select pg_sleep(75)',
      },
      {
        name: 'locks: maintenance',
        state: 'waiting',
        why: 'maintenance is waiting to drop audit_events_2025_01, because audit_events is in use: pid 4711 (psql, user xiq_reader), in a transaction for 40 s',
      },
    ]);
  });

  it('does not know of waits while the database is away, which is reported elsewhere', async () => {
    const find = () => Promise.reject(new OutageError('connection refused'));
    const locks = { ask: () => locksFinding(find, { blockedChanges: () => [] }), isNeeded: false };
    const readiness = createReadiness({ locks }, pino({ level: 'silent' }));
    expect(await readiness.ask()).toEqual({ status: 'ok', checks: { locks: 'unknown' } });
  });

  it('is unavailable if the connections that store are refused, though others work', async () => {
    const database = await databaseForTest();
    const pools = new Map([
      ['log', async () => undefined],
      ['storing', () => Promise.reject(new Error('the pooler is disabled'))],
    ]);
    const readiness = readinessOf({ role: 'worker', db: database.db, pools });
    expect(await readiness.ask()).toMatchObject({ status: 'unavailable', checks: { database: 'away' } });
    expect((await readiness.describe()).checks).toContainEqual({
      name: 'database: storing',
      state: 'away',
      why: 'the pooler is disabled',
    });
  });

  describe('as time passes', () => {
    afterEach(() => vi.useRealTimers());

    it('is not while the worker is stuck, or leaves what waits in the queue', async () => {
      vi.useFakeTimers({ toFake: ['Date'], now: 0 });
      const { db } = await databaseForTest();
      const storing = new StoringProgress();
      let oldestWaitingSeconds: number | undefined;
      const jobs = { waiting: 0, active: 0, delayed: 0, failed: 0 };
      const measure = async () => ({ ...jobs, oldestWaitingSeconds });
      const readiness = readinessOf({ role: 'worker', db, measure, storing });
      const after = async (ms: number) => {
        vi.setSystemTime(Date.now() + ms);
        const { status, checks } = await readiness.describe();
        const { state, why } = checks.find(({ name }) => name === 'storing') ?? {};
        return [status, state, why];
      };
      expect(await after(0)).toEqual(['ok', 'ok', 'nothing stored yet']);
      storing.began();
      expect(await after(4_999)).toEqual(['ok', 'ok', 'nothing stored yet']);
      const since = 'batches have been waiting since 1970-01-01T00:00:00.000Z';
      const why = `${since}: the database reports no blocking session; nothing stored yet`;
      expect(await after(1)).toEqual(['unavailable', 'stuck', why]);
      storing.waiting('connection refused');
      expect(await after(0)).toEqual(['unavailable', 'away', 'connection refused; nothing stored yet']);
      storing.stored();
      storing.ended();
      const last = 'last stored 1970-01-01T00:00:05.000Z';
      expect(await after(0)).toEqual(['ok', 'ok', last]);
      oldestWaitingSeconds = 3_600;
      expect(await after(9_999)).toEqual(['ok', 'ok', last]);
      const left = `jobs have been in the queue for 1 h, but the worker receives none; ${last}`;
      expect(await after(1)).toEqual(['unavailable', 'stuck', left]);
      oldestWaitingSeconds = undefined;
      storing.tooNew(7);
      const newer = `jobs of version 7 are left to newer workers: upgrade this one; ${last}`;
      expect(await after(119_999)).toEqual(['degraded', 'behind', newer]);
      expect(await after(1)).toEqual(['ok', 'ok', last]);
    });

    it('is not before the parts of a role have started, and says which step waits for what', async () => {
      vi.useFakeTimers({ toFake: ['Date'], now: 0 });
      const { db } = await databaseForTest();
      const startSteps = createStartSteps(true);
      const start = async (role: CheckedParts['role']) => {
        const { status, checks } = await readinessOf({ role, db, startSteps }).describe();
        return [status, checks.find(({ name }) => name === 'start')?.why];
      };
      const since = 'migrations since 1970-01-01T00:00:00.000Z';
      const { promise: failing, reject: fail } = Promise.withResolvers<void>();
      const first = startSteps.run('migrations', () => failing);
      expect(await start('forward')).toEqual(['unavailable', since]);
      vi.setSystemTime(5_000);
      expect(await start('all')).toEqual(['degraded', `${since}: the database reports no blocking session`]);
      fail(new Error('away'));
      await expect(first).rejects.toThrow('away');
      expect(await start('all')).toEqual(['degraded', `${since}: away`]);
      // A step that is repeated began when it was tried first.
      await startSteps.run('migrations', async () => undefined);
      expect(await start('all')).toEqual(['degraded', `${since}: away`]);
      await startSteps.run('start of the worker', async () => undefined);
      expect(await start('all')).toEqual(['degraded', 'start of the worker since 1970-01-01T00:00:05.000Z']);
      startSteps.done();
      expect(await start('all')).toEqual(['ok', '']);
    });
  });

  it('says which source the cloud refuses to log in, unless its API takes a token', async () => {
    const database = await databaseForTest();
    const sources = ['west', 'east', 'north'].map((name) => {
      const credentials = name === 'east' ? { apiToken: 'token' } : { username: name, password: name };
      return { name, secrets: [], messageTypes: [], cloud: { apiUrl: 'https://cloud.test', credentials } };
    });
    const refusal = { status: 400, reason: 'wrong password', refused_at: new Date(0), until: null };
    for (const name of ['west', 'east'])
      await refusedLoginsOf(database.db, name).save(Buffer.from(name), refusal);
    const readiness = readinessOf({ db: database.db, config: { sources, redisUrl: undefined } });
    expect((await readiness.ask()).checks['cloud']).toBe('refused');
    const { checks } = await readiness.describe();
    expect(checks.filter(({ name }) => name.startsWith('cloud:'))).toEqual([
      { name: 'cloud: west', state: 'refused', why: 'wrong password; 1970-01-01T00:00:00.000Z' },
    ]);
    await refusedLoginsOf(database.db, 'west').forget(Buffer.from('another password'));
    expect((await readiness.ask()).checks['cloud']).toBe('ok');
  });

  it('has of each role its own parts alone', async () => {
    const names = async (role: CheckedParts['role']) =>
      Object.keys((await readinessOf({ role }).ask()).checks);
    expect(await names('worker')).toEqual(['silence']);
    expect(await names('forward')).toEqual(['forwarding']);
    expect(await names('console')).toEqual([]);
  });
});
