import { Worker, type Transferable } from 'node:worker_threads';
import { setPriority } from 'node:os';
import { OutageError } from './errors.ts';

interface WorkerPool<Request, Reply> {
  /**
   * Sends a request to a free thread and resolves with the reply. Waiting requests are served in turn by `key`, so that
   * one sender does not delay the others. Throws WorkerError if the thread ends or does not reply in time, PoolFullError if
   * too many requests with the same key are waiting, and OutageError if the system allows no further thread.
   */
  run(key: string, request: Request, transfer?: readonly Transferable[]): Promise<Reply>;
}

export interface WorkerPoolOptions {
  /** The module that the threads run: it answers each message with one message. */
  readonly script: URL;
  readonly threads: number;
  /** Requests with the same key that may wait for a thread. */
  readonly maxWaiting: number;
  /** Milliseconds for one reply; then the thread is terminated. */
  readonly timeLimitMs: number;
  /** MiB of JavaScript objects in one thread; beyond that, the thread ends. */
  readonly maxHeapMib: number;
}

/** V8's default is 48 MiB for each thread. The work has few, large objects, which are not kept there. */
const YOUNG_MIB = 8;

/** A thread ended, or was terminated because its time was up: the work is not done. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError';
}

/** Too many requests are waiting for a thread. */
export class PoolFullError extends Error {
  override readonly name = 'PoolFullError';
}

/**
 * Creates a pool of threads for work that would hold up the event loop. A thread starts when work first needs it; idle ones
 * do not keep the process alive.
 */
export function createWorkerPool<Request, Reply>(options: WorkerPoolOptions): WorkerPool<Request, Reply> {
  const { script, threads, maxWaiting, timeLimitMs, maxHeapMib } = options;
  const idle: Worker[] = [];
  /** By key. The key at the front has the next turn. */
  const waiting = new Map<string, PromiseWithResolvers<Worker>[]>();
  let running = 0;

  function start(): Worker {
    const worker = new Worker(script, {
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMib, maxYoungGenerationSizeMb: YOUNG_MIB },
    });
    running += 1;
    // Without a listener, a thread that fails would end the process. A request that it fails on has its own.
    worker.on('error', () => undefined);
    worker.once('exit', () => {
      running -= 1;
      const at = idle.indexOf(worker);
      if (at !== -1) idle.splice(at, 1);
      replace();
    });
    return worker;
  }

  function replace(): void {
    if (waiting.size === 0 || running >= threads) return;
    try {
      release(start());
    } catch (error) {
      // Nothing else would end these waits.
      takeNext()?.reject(error);
      replace();
    }
  }

  function takeNext(): PromiseWithResolvers<Worker> | undefined {
    for (const [key, [next, ...others]] of waiting) {
      waiting.delete(key);
      if (others.length > 0) waiting.set(key, others);
      return next;
    }
    return undefined;
  }

  function release(worker: Worker): void {
    const next = takeNext();
    if (next !== undefined) return next.resolve(worker);
    worker.unref();
    idle.push(worker);
  }

  async function acquire(key: string): Promise<Worker> {
    const worker = idle.pop();
    if (worker !== undefined) return worker;
    if (running < threads) return start();
    const before = waiting.get(key) ?? [];
    if (before.length >= maxWaiting) throw new PoolFullError('too many requests are waiting for a thread');
    const next = Promise.withResolvers<Worker>();
    waiting.set(key, [...before, next]);
    return next.promise;
  }

  return {
    async run(key, request, transfer = []) {
      const worker = await acquire(key).catch((cause: unknown) => {
        if (cause instanceof PoolFullError) throw cause;
        throw new OutageError('no worker thread can be started', { cause });
      });
      try {
        const reply = await ask<Reply>(worker, request, transfer, timeLimitMs);
        release(worker);
        return reply;
      } catch (error) {
        // It is replaced once it has ended.
        void worker.terminate();
        throw error;
      }
    },
  };
}

function ask<Reply>(
  worker: Worker,
  request: unknown,
  transfer: readonly Transferable[],
  timeLimitMs: number,
): Promise<Reply> {
  return new Promise<Reply>((resolve, reject) => {
    const settle = () => {
      clearTimeout(timer);
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
    };
    const fail = (problem: string, cause?: unknown) => {
      settle();
      reject(new WorkerError(`the worker thread ${problem}`, { cause }));
    };
    const onMessage = (reply: Reply) => {
      settle();
      resolve(reply);
    };
    const onError = (error: Error) => fail(`failed: ${error.message}`, error);
    const onExit = () => fail('ended');
    const timer = setTimeout(() => fail(`did not reply within ${timeLimitMs} ms`), timeLimitMs);
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    worker.ref();
    worker.postMessage(request, transfer);
  });
}

const NICE = 10;

/** Lets other threads go first where the processor is busy. Call it in a thread: elsewhere than on Linux it does nothing. */
export function yieldProcessor(): void {
  // On Linux this is the priority of the calling thread, on other systems of the whole process.
  if (process.platform === 'linux') setPriority(NICE);
}
