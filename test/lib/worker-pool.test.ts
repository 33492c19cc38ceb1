import { describe, expect, it } from 'vitest';
import { OutageError } from '../../src/lib/errors.ts';
import {
  createWorkerPool,
  PoolFullError,
  WorkerError,
  type WorkerPoolOptions,
} from '../../src/lib/worker-pool.ts';

/** A thread that does what each request says. */
const SCRIPT = `
  import { parentPort } from 'node:worker_threads';
  parentPort.on('message', (request) => {
    if (request === 'fail') throw new Error('on purpose');
    if (request === 'exit') process.exit(0);
    if (request === 'spin') for (;;);
    if (request === 'grow') for (const all = []; ; ) all.push({ all: [...Array(1000).keys()] });
    parentPort.postMessage(request + '!');
  });`;

const scriptUrl = () => new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`);

const createPool = (options: Partial<WorkerPoolOptions> = {}) =>
  createWorkerPool<string, string>({
    script: scriptUrl(),
    threads: 1,
    maxWaiting: 4,
    timeLimitMs: 60_000,
    maxHeapMib: 32,
    ...options,
  });

describe('a worker pool', () => {
  it('replies to each request', async () => {
    const pool = createPool({ threads: 2 });
    const requests = ['a', 'b', 'c', 'd', 'e'];
    const replies = await Promise.all(requests.map((request) => pool.run('key', request)));
    expect(replies).toEqual(requests.map((request) => `${request}!`));
  });

  it.each(['fail', 'exit', 'grow'])('survives a thread that ends: %s', async (request) => {
    const pool = createPool();
    const failed = pool.run('key', request);
    const next = pool.run('key', 'next');
    await expect(failed).rejects.toThrow(WorkerError);
    expect(await next).toBe('next!');
  });

  it('terminates a thread that does not reply in time', async () => {
    const pool = createPool({ timeLimitMs: 2_000 });
    await expect(pool.run('key', 'spin')).rejects.toThrow('did not reply within 2000 ms');
    expect(await pool.run('key', 'next')).toBe('next!');
  });

  it('serves the waiting in turn by key, and refuses too many of one key', async () => {
    const pool = createPool({ maxWaiting: 2 });
    const order: string[] = [];
    const run = (key: string, request: string) => pool.run(key, request).then((reply) => order.push(reply));
    const accepted = [run('a', '1'), run('a', '2'), run('a', '3'), run('b', '4')];
    await expect(run('a', '5')).rejects.toThrow(PoolFullError);
    await Promise.all(accepted);
    expect(order).toEqual(['1!', '2!', '4!', '3!']);
  });

  it('fails what waits while no thread can be started, and goes on when one can', async () => {
    const script = scriptUrl();
    const { href } = script;
    const pool = createPool({ script });
    const exit = pool.run('key', 'exit');
    const waiting = [pool.run('key', 'a'), pool.run('other', 'b')];
    // Node.js throws this error at once, as that of a system that is out of threads.
    script.href = 'http://nowhere/';
    await expect(exit).rejects.toThrow(WorkerError);
    for (const one of [...waiting, pool.run('key', 'c')]) await expect(one).rejects.toThrow(OutageError);
    script.href = href;
    expect(await pool.run('key', 'next')).toBe('next!');
  });
});
