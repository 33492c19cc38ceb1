import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { ApiError, errorBody, found, internal } from './errors.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { timestamp } from '../world/seeding.ts';
import type { operationSchema, OperationStatus } from '../contract/operation.ts';

/** The duration of each state of a long-running operation. The real ones are not documented. */
export interface OperationTimes {
  pendingMs: number;
  runningMs: number;
  cancelingMs: number;
  /** From creation until the record is removed. */
  keptMs: number;
}

export const OPERATION_TIMES: OperationTimes = {
  pendingMs: 1000,
  runningMs: 3000,
  cancelingMs: 1000,
  keptMs: 3_600_000,
};

/** The work of a valid long-running call. */
export interface Work {
  /** Whether it can be cancelled while it runs. A pending operation always can. */
  cancelable: boolean;
  /** Whether it reports progress. */
  hasProgress: boolean;
  /** Names of its steps, in order. */
  steps: readonly string[];
  /** Returns the body of the synchronous answer. Throws an `ApiError` if it fails. */
  run(): unknown;
}

/** The long-running operations of the account (specification, States and transitions). */
export interface Operations {
  /** Accepts a valid call. Returns the identifier of its operation. */
  start(work: Work): string;
  get(id: string): z.input<typeof operationSchema>;
  /** Throws UNIMPLEMENTED or FAILED_PRECONDITION if the state does not allow it, 404 if there is no such operation. */
  cancel(id: string): void;
  /** Throws FAILED_PRECONDITION while it is in progress, 404 if there is no such operation. */
  remove(id: string): void;
  /** Brings every operation to its present state, and removes expired ones. */
  settle(): void;
}

interface OperationRecord {
  id: string;
  work: Work;
  status: OperationStatus;
  createdAt: number;
  updatedAt: number;
  startedAt?: number;
  endedAt?: number;
  response?: unknown;
  error?: ApiError;
}

const NOT_DONE: ReadonlySet<OperationStatus> = new Set(['PENDING', 'RUNNING', 'CANCELING']);

/** Creates an empty list of operations. */
export function createOperations(clock: Clock, times: OperationTimes): Operations {
  const records = new Map<string, OperationRecord>();

  /** Applies all transitions that are due, each at its own time. */
  function advance(record: OperationRecord): void {
    const now = clock.now();
    if (record.status === 'PENDING' && now >= record.updatedAt + times.pendingMs) {
      record.startedAt = record.updatedAt + times.pendingMs;
      move(record, 'RUNNING', record.startedAt);
    }
    if (record.status === 'RUNNING' && now >= record.updatedAt + times.runningMs) {
      finish(record, record.updatedAt + times.runningMs);
    }
    if (record.status === 'CANCELING' && now >= record.updatedAt + times.cancelingMs) {
      endCanceled(record, record.updatedAt + times.cancelingMs);
    }
  }

  function settle(): void {
    for (const record of records.values()) {
      advance(record);
      if (clock.now() >= record.createdAt + times.keptMs) records.delete(record.id);
    }
  }

  function lookUp(id: string): OperationRecord {
    settle();
    return found(records.get(id), 'operation', id);
  }

  /** The elapsed share of the running time, below 1. */
  function progress({ startedAt }: OperationRecord): number {
    return startedAt === undefined ? 0 : (clock.now() - startedAt) / times.runningMs;
  }

  function percentage(record: OperationRecord): number | undefined {
    if (!record.work.hasProgress) return undefined;
    if (record.status === 'SUCCEEDED') return 100;
    return record.status === 'RUNNING' ? Math.floor(100 * progress(record)) : undefined;
  }

  function currentStep(record: OperationRecord): string | undefined {
    const { steps } = record.work;
    return record.status === 'RUNNING' ? steps[Math.floor(steps.length * progress(record))] : undefined;
  }

  return {
    settle,
    start(work) {
      const now = clock.now();
      const id = randomUUID();
      records.set(id, { id, work, status: 'PENDING', createdAt: now, updatedAt: now });
      return id;
    },
    get(id) {
      const record = lookUp(id);
      const { status, work, startedAt, endedAt } = record;
      return {
        id,
        done: !NOT_DONE.has(status),
        metadata: {
          status,
          cancelable: status === 'PENDING' || (status === 'RUNNING' && work.cancelable),
          percentage: percentage(record),
          step: currentStep(record),
          create_time: timestamp(record.createdAt),
          update_time: timestamp(record.updatedAt),
          start_time: startedAt === undefined ? undefined : timestamp(startedAt),
          end_time: endedAt === undefined ? undefined : timestamp(endedAt),
          expires_in: Math.ceil((record.createdAt + times.keptMs - clock.now()) / 1000),
        },
        ...(status === 'SUCCEEDED' ? { response: record.response ?? null } : {}),
        ...(record.error === undefined ? {} : { error: errorBody(record.error) }),
      };
    },
    cancel(id) {
      const record = lookUp(id);
      if (record.status === 'CANCELING') return;
      if (!NOT_DONE.has(record.status))
        throw precondition(`Operation ${id} has already ended: ${record.status}`);
      if (record.status === 'PENDING') {
        endCanceled(record, clock.now());
        return;
      }
      if (!record.work.cancelable) {
        throw new ApiError(400, 'UNIMPLEMENTED', `Operation ${id} cannot be cancelled while it runs`);
      }
      move(record, 'CANCELING', clock.now());
    },
    remove(id) {
      const { status } = lookUp(id);
      if (status === 'RUNNING' || status === 'CANCELING') {
        throw precondition(`Operation ${id} is ${status}. Cancel it before you delete it`);
      }
      records.delete(id);
    },
  };
}

function move(record: OperationRecord, status: OperationStatus, at: number): void {
  record.status = status;
  record.updatedAt = at;
}

function finish(record: OperationRecord, at: number): void {
  record.endedAt = at;
  try {
    record.response = record.work.run();
    move(record, 'SUCCEEDED', at);
  } catch (error) {
    record.error = error instanceof ApiError ? error : internal(error);
    move(record, 'FAILED', at);
  }
}

function endCanceled(record: OperationRecord, at: number): void {
  record.endedAt = at;
  record.error = new ApiError(400, 'CANCELED', `Operation ${record.id} was cancelled on request`);
  move(record, 'CANCELED', at);
}

function precondition(message: string): ApiError {
  return new ApiError(400, 'FAILED_PRECONDITION', message);
}
