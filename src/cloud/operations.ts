import { CloudApiError, readErrorBody } from './cloud-api-error.ts';
import type { Clock } from '../clock.ts';
import { MIN_POLL_INTERVAL_MS, operationSchema, type Operation } from './contract/operation.ts';
import type { Answer, Call } from './exchange.ts';
import { path } from './addresses.ts';
import { readJson } from './json.ts';
import type { Request } from './request.ts';
import { readRetryAfter } from '../retry-after.ts';
import type { Secrets } from '../secrets.ts';

/** A long-running operation that was accepted: the path to poll, and how long to wait before, in milliseconds. */
export interface StartedOperation {
  path: string;
  retryAfterMs: number | undefined;
}

interface WaitOptions {
  onProgress?: (operation: Operation) => void;
  signal?: AbortSignal | undefined;
}

/** Long-running operations (specification, Asynchronous mode). */
export interface Operations {
  get(id: string, signal?: AbortSignal): Promise<Operation>;
  /** Requests cancellation. A `CloudApiError` with UNIMPLEMENTED or FAILED_PRECONDITION means that it is not possible. */
  cancel(id: string, signal?: AbortSignal): Promise<void>;
  /** Deletes the record of an operation that is not in progress. */
  remove(id: string, signal?: AbortSignal): Promise<void>;
  /**
   * Polls until the operation is done, as often as the cloud asks for and never faster than it allows. Resolves if the
   * operation succeeded; rejects with a `CloudApiError` if it failed, was cancelled or its record is gone.
   */
  wait(started: StartedOperation, options?: WaitOptions): Promise<Operation>;
}

export function createOperations(request: Request<Call>, clock: Clock, secrets: Secrets): Operations {
  async function poll(at: string, signal: AbortSignal | undefined): Promise<[Operation, Answer]> {
    const answer = await request({ method: 'GET', path: at, signal });
    return [readJson(operationSchema, answer), answer];
  }

  return {
    async get(id, signal) {
      const [operation] = await poll(path`/operations/${id}`, signal);
      return operation;
    },
    async cancel(id, signal) {
      await request({ method: 'POST', path: path`/operations/${id}/:cancel`, signal });
    },
    async remove(id, signal) {
      await request({ method: 'DELETE', path: path`/operations/${id}`, signal });
    },
    async wait(started, { onProgress, signal } = {}) {
      let pauseMs = started.retryAfterMs ?? 0;
      for (;;) {
        await clock.sleep(Math.max(pauseMs, MIN_POLL_INTERVAL_MS), signal);
        const [operation, answer] = await poll(started.path, signal);
        onProgress?.(operation);
        if (operation.done) return successOf(operation, answer, secrets);
        pauseMs = readRetryAfter(answer.headers.get('retry-after'), clock.now()) ?? pauseMs;
      }
    },
  };
}

function successOf(operation: Operation, { method, path, status }: Answer, secrets: Secrets): Operation {
  if (operation.metadata.status === 'SUCCEEDED') return operation;
  const { code, id, message } = readErrorBody(operation.error);
  const reason = [code, message, id === undefined ? undefined : `error id ${id}`];
  const text = [`operation ${operation.id} ended ${operation.metadata.status}`, ...reason];
  throw new CloudApiError(secrets.hide(text.filter((part) => part !== undefined).join('; ')), {
    method,
    path,
    status,
    errorCode: code,
    errorId: id,
  });
}

/**
 * Reads the 202 that accepts an asynchronous call. Only an address under our own base address is polled, because the
 * token must not be sent elsewhere. Any other address that ends in `/operations/{id}` is polled at ours.
 */
export function readStartedOperation(answer: Answer, baseUrl: string, now: number): StartedOperation {
  const { method, path: calledPath, status, headers } = answer;
  const location = headers.get('location');
  const pollPath = location === null ? undefined : pathBelow(baseUrl, location, baseUrl + calledPath);
  if (status !== 202 || pollPath === undefined) {
    const problem = status === 202 ? 'without an address to poll' : 'instead of starting an operation (202)';
    throw new CloudApiError(`${method} ${calledPath} answered ${status} ${problem}`, {
      method,
      path: calledPath,
      status,
    });
  }
  return { path: pollPath, retryAfterMs: readRetryAfter(headers.get('retry-after'), now) };
}

function pathBelow(baseUrl: string, location: string, calledUrl: string): string | undefined {
  const url = URL.parse(location, calledUrl);
  if (url === null) return undefined;
  const address = url.origin + url.pathname;
  if (address.startsWith(`${baseUrl}/`)) return address.slice(baseUrl.length) + url.search;
  return /\/operations\/[^/]+$/.exec(url.pathname)?.[0];
}
