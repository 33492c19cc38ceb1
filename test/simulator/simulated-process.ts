import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { createRandom, mulberry32, type Random } from '../../emulator/random.ts';
import { toError } from '../../src/lib/errors.ts';
import type { Receipt } from '../../src/ingest/receive-delivery.ts';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import type { Clockwork, Due, Owner } from './clockwork.ts';
import type { Session, SimulatedDatabase } from './database.ts';
import type { SimulatedDisk } from './disk.ts';
import type { SimulatedQueues } from './queue.ts';
import type { Receivers } from './receivers.ts';
import type { Setup } from './set-up.ts';
import type { Troubles } from './troubles.ts';

/** When simulated time begins, in epoch milliseconds. */
export const EPOCH = Date.UTC(2026, 0, 15, 12);

/** A machine: what outlives the processes on it. */
export interface Machine {
  readonly disk: SimulatedDisk;
  /** How far its clock is ahead, in milliseconds. */
  clockAheadMs: number;
}

/** What all processes share. */
export interface Surroundings {
  readonly clockwork: Clockwork;
  readonly queues: SimulatedQueues;
  readonly database: SimulatedDatabase;
  readonly troubles: Troubles;
  readonly receivers: Receivers;
  readonly sealStep: number;
}

/** What a process is started with. */
export interface Start {
  readonly setup: Setup;
  readonly dataDir: string;
  readonly onEnqueue: (delivery: QueuedDelivery) => void;
  readonly logger: Logger;
}

/** What a process does once it is started. */
export interface Service {
  /** Of an ingest process. */
  readonly receive?: (request: IncomingMessage, source: string) => Promise<Receipt>;
  readonly stop: () => Promise<void>;
}

/** One life of a process: the modules of the product that run for it reach the world through this alone. */
export class SimulatedProcess implements Owner {
  readonly name: string;
  readonly machine: Machine;
  readonly surroundings: Surroundings;
  readonly random: Random;
  /** A number from 0 to 1. */
  readonly nextRandom: () => number;
  readonly bornAt: number;
  /** Its connections to the database. */
  readonly connections = new Set<Session>();
  openFiles = 0;
  /** Set by the modules that run for it. */
  begin: ((start: Start) => Service) | undefined;
  isAlive = true;
  stillUntil = 0;

  constructor(name: string, seed: number, machine: Machine, surroundings: Surroundings) {
    this.name = name;
    this.machine = machine;
    this.surroundings = surroundings;
    this.random = createRandom(seed, name);
    this.nextRandom = mulberry32(this.random.int(0, 2 ** 31));
    this.bornAt = surroundings.clockwork.now;
  }

  /** Epoch milliseconds, as this machine's clock shows them. */
  readClock(): number {
    return Math.floor(EPOCH + this.surroundings.clockwork.now + this.machine.clockAheadMs);
  }

  after(ms: number, run: () => void): Due {
    return this.surroundings.clockwork.after(ms, run, this);
  }

  /** Does work of a server or a device after some time, whatever becomes of this process, which learns of the outcome a time later. */
  ask<T>(ms: number, work: () => T | Promise<T>, backMs = ms): Promise<T> {
    const { clockwork } = this.surroundings;
    return new Promise((resolve, reject) => {
      const answer = (settle: () => void) => clockwork.after(backMs, settle, this);
      clockwork.after(ms, () => {
        Promise.try(work).then(
          (result) => answer(() => resolve(result)),
          (error: unknown) => answer(() => reject(toError(error))),
        );
      });
    });
  }

  /** Ends at once: nothing happens to it any more. */
  end(): void {
    this.isAlive = false;
  }
}

let starting: SimulatedProcess | undefined;

/** Runs the modules of a process. */
export function runFor(process: SimulatedProcess, modules: () => void): void {
  starting = process;
  modules();
  starting = undefined;
}

/** The process that modules run for, while they do. */
export function startingProcess(): SimulatedProcess {
  if (starting === undefined) throw new Error('modules of a life run without a process');
  return starting;
}
