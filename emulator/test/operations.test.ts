import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { OperationTimes } from '../http/operations.ts';
import type { Call } from './harness.ts';
import { errorCode, idsOf, manualClock, onlineDevice, startEmulator } from './harness.ts';
import { operationSchema } from '../contract/operation.ts';

const TIMES: OperationTimes = { pendingMs: 1000, runningMs: 3000, cancelingMs: 1000, keptMs: 60_000 };
const UNTIL_RUNNING = 1500;
const UNTIL_DONE = 5000;

async function setUp() {
  const clock = manualClock();
  const { call, emulator } = await startEmulator({ clock, operationTimes: TIMES });
  return { clock, call, emulator };
}

type SetUp = Awaited<ReturnType<typeof setUp>>;

/** Starts an operation that can be cancelled while it runs; its address. */
async function startCli({ call }: SetUp): Promise<string> {
  return await accepted(call, '/devices/:cli?async=true', {
    devices: { ids: await idsOf(call, '/devices') },
    clis: ['show version'],
  });
}

/** Starts an operation that cannot. */
async function startReset({ call }: SetUp): Promise<string> {
  return await accepted(call, `/devices/${await onlineDevice(call)}/:reset?async=true`);
}

async function accepted(call: Call, path: string, body?: unknown): Promise<string> {
  const answer = await call('POST', path, { body });
  expect(answer.status).toBe(202);
  expect(answer.text).toBe('');
  return z.url().parse(answer.headers.get('location'));
}

async function stateOf({ call }: SetUp, location: string) {
  const answer = await call('GET', location);
  expect(answer.status).toBe(200);
  return operationSchema.parse(answer.body);
}

async function statusOf(setup: SetUp, location: string): Promise<string> {
  return (await stateOf(setup, location)).metadata.status;
}

async function cancel({ call }: SetUp, location: string) {
  return await call('POST', `${location}/:cancel`);
}

/** Starts operations and brings each into one of the states. */
const into = {
  PENDING: startCli,
  RUNNING: async (setup: SetUp) => {
    const location = await startCli(setup);
    await setup.clock.advance(UNTIL_RUNNING);
    return location;
  },
  CANCELING: async (setup: SetUp) => {
    const location = await into.RUNNING(setup);
    expect((await cancel(setup, location)).status).toBe(200);
    return location;
  },
  SUCCEEDED: async (setup: SetUp) => {
    const location = await startCli(setup);
    await setup.clock.advance(UNTIL_DONE);
    return location;
  },
  FAILED: async (setup: SetUp) => {
    const device = await onlineDevice(setup.call);
    const location = await accepted(setup.call, `/devices/${device}/:reset?async=true`);
    expect((await setup.call('DELETE', `/devices/${device}`)).status).toBe(200);
    await setup.clock.advance(UNTIL_DONE);
    return location;
  },
  CANCELED: async (setup: SetUp) => {
    const location = await startCli(setup);
    expect((await cancel(setup, location)).status).toBe(200);
    return location;
  },
};

const states = ['PENDING', 'RUNNING', 'CANCELING', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const;

describe('each row of the table of long-running operations', () => {
  it('an accepted call becomes PENDING, answered 202 with Location and Retry-After', async () => {
    const setup = await setUp();
    const answer = await setup.call('GET', '/devices?async=true');
    expect(answer.status).toBe(202);
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    const operation = await stateOf(setup, answer.headers.get('location') ?? '');
    expect(operation).toMatchObject({ done: false, metadata: { status: 'PENDING', cancelable: true } });
    expect(Date.parse(operation.metadata.create_time)).toBe(setup.clock.now());
    expect(operation.metadata.start_time ?? operation.metadata.end_time).toBeUndefined();
  });

  it('a call that is wrong is refused at once and starts nothing', async () => {
    const { call } = await setUp();
    const answer = await call('POST', '/devices/:cli?async=true', {
      body: { devices: { ids: [] }, clis: [] },
    });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeNull();
    expect((await call('GET', '/devices?async=perhaps')).status).toBe(400);
    expect((await call('POST', '/devices/1/:reset?async=true')).status).toBe(404);
  });

  it('PENDING + cancel: ends in CANCELED, its record is kept, and it never started', async () => {
    const setup = await setUp();
    const location = await startReset(setup);
    expect((await cancel(setup, location)).status).toBe(200);
    const operation = await stateOf(setup, location);
    expect(operation).toMatchObject({ done: true, metadata: { status: 'CANCELED', cancelable: false } });
    expect(operation.error).toMatchObject({ error_code: 'CANCELED' });
    expect(operation.metadata.start_time).toBeUndefined();
    expect(operation.metadata.end_time).toBeTypeOf('string');
  });

  it('RUNNING + cancel, where it can be cancelled: CANCELING, then CANCELED, and nothing was done', async () => {
    const setup = await setUp();
    const location = await into.RUNNING(setup);
    expect((await stateOf(setup, location)).metadata.cancelable).toBe(true);
    expect((await cancel(setup, location)).status).toBe(200);
    expect(await stateOf(setup, location)).toMatchObject({
      done: false,
      metadata: { status: 'CANCELING', cancelable: false },
    });
    await setup.clock.advance(TIMES.cancelingMs);
    const operation = await stateOf(setup, location);
    expect(operation).toMatchObject({ done: true, metadata: { status: 'CANCELED' } });
    expect(operation).not.toHaveProperty('response');
    expect(operation.metadata.start_time).toBeTypeOf('string');
  });

  it('RUNNING + cancel, where it cannot be cancelled: UNIMPLEMENTED, and it runs on', async () => {
    const setup = await setUp();
    const location = await startReset(setup);
    await setup.clock.advance(UNTIL_RUNNING);
    expect((await stateOf(setup, location)).metadata.cancelable).toBe(false);
    expect(errorCode(await cancel(setup, location))).toBe('UNIMPLEMENTED');
    expect(await statusOf(setup, location)).toBe('RUNNING');
  });

  it('CANCELING + cancel: ignored', async () => {
    const setup = await setUp();
    const location = await into.CANCELING(setup);
    expect((await cancel(setup, location)).status).toBe(200);
    expect(await statusOf(setup, location)).toBe('CANCELING');
  });

  it.each(['SUCCEEDED', 'FAILED', 'CANCELED'] as const)('%s + cancel: FAILED_PRECONDITION', async (state) => {
    const setup = await setUp();
    const location = await into[state](setup);
    expect(errorCode(await cancel(setup, location))).toBe('FAILED_PRECONDITION');
    expect(await statusOf(setup, location)).toBe(state);
  });

  it.each(['PENDING', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const)('%s + delete: removed', async (state) => {
    const setup = await setUp();
    const location = await into[state](setup);
    expect((await setup.call('DELETE', location)).status).toBe(200);
    expect((await setup.call('GET', location)).status).toBe(404);
  });

  it.each(['RUNNING', 'CANCELING'] as const)('%s + delete: FAILED_PRECONDITION, unchanged', async (state) => {
    const setup = await setUp();
    const location = await into[state](setup);
    expect(errorCode(await setup.call('DELETE', location))).toBe('FAILED_PRECONDITION');
    expect(await statusOf(setup, location)).toBe(state);
  });

  it.each(states)('%s + time: expires_in counts down, at zero the record is gone', async (state) => {
    const setup = await setUp();
    const location = await into[state](setup);
    const { metadata } = await stateOf(setup, location);
    const before = metadata.expires_in;
    await setup.clock.advance(10_000);
    expect((await stateOf(setup, location)).metadata.expires_in).toBe(before - 10);
    await setup.clock.advance((before - 10) * 1000);
    expect((await setup.call('GET', location)).status).toBe(404);
  });
});

describe('a long-running operation', () => {
  it('ends with the answer of the synchronous call as its response', async () => {
    const setup = await setUp();
    const query = '/devices?limit=3&fields=hostname';
    const location = (await setup.call('GET', `${query}&async=true`)).headers.get('location') ?? '';
    const synchronous = await setup.call('GET', `${query}&async=false`);
    await setup.clock.advance(UNTIL_DONE);
    const operation = await stateOf(setup, location);
    expect(operation).toMatchObject({ done: true, metadata: { status: 'SUCCEEDED', percentage: 100 } });
    expect(operation.response).toEqual(synchronous.body);
    expect(operation).not.toHaveProperty('error');
  });

  it('tells its progress while it runs', async () => {
    const setup = await setUp();
    const location = await startCli(setup);
    expect((await stateOf(setup, location)).metadata.percentage).toBeUndefined();
    await setup.clock.advance(TIMES.pendingMs);
    expect((await stateOf(setup, location)).metadata).toMatchObject({ percentage: 0, step: 'connect' });
    await setup.clock.advance(TIMES.runningMs / 2);
    expect((await stateOf(setup, location)).metadata).toMatchObject({ percentage: 50, step: 'execute' });
  });

  it('is FAILED with an error body when what it works on is gone', async () => {
    const setup = await setUp();
    const operation = await stateOf(setup, await into.FAILED(setup));
    expect(operation).toMatchObject({ done: true, metadata: { status: 'FAILED' } });
    expect(operation.error).toMatchObject({ error_code: 'NOT_FOUND' });
    expect(operation).not.toHaveProperty('response');
  });

  it('does its work even when nobody asks for its state', async () => {
    const setup = await setUp();
    const device = await onlineDevice(setup.call);
    await setup.call('PUT', `/devices/${device}/hostname?hostname=before`);
    await accepted(setup.call, `/devices/${device}/:reset?async=true`);
    await setup.clock.advance(UNTIL_DONE);
    const answer = await setup.call('GET', `/devices/${device}?fields=hostname`);
    expect(answer.body).not.toMatchObject({ hostname: 'before' });
  });
});
