import { pino, type Logger } from 'pino';
import { Clockwork } from './clockwork.ts';
import { SimulatedDatabase } from './database.ts';
import { SimulatedDisk } from './disk.ts';
import { loadModules } from './lives.ts';
import { Ledger } from './ledger.ts';
import { EVENT_TABLES } from './log-statements.ts';
import { SimulatedQueues } from './queue.ts';
import { DESTINATIONS, Receivers } from './receivers.ts';
import { drawSetup, type Setup } from './set-up.ts';
import {
  runFor,
  SimulatedProcess,
  type Machine,
  type Service,
  type Surroundings,
} from './simulated-process.ts';
import { Troubles } from './troubles.ts';

/** A process that is started again whenever it ends. */
export interface Slot {
  readonly name: string;
  readonly role: 'ingest' | 'worker';
  readonly machine: Machine;
  process: SimulatedProcess | undefined;
  service: Service | undefined;
  isStopping: boolean;
  /** Its next lives are of the version after this one. */
  isUpgraded: boolean;
  /** Requests without an answer, and their sources: each is told when its connection is reset. */
  readonly requests: Map<() => void, string>;
  lives: number;
}

const DATA_DIR = '/data';

/** A stop that takes longer ends the process. */
const STOP_MS = 10_000;

/** The server notices so late, at most, that a machine without power is gone. */
const NOTICED_MS = 60_000;

/** Everything that a run simulates. */
export class World {
  readonly seed: number;
  readonly setup: Setup;
  readonly clockwork = new Clockwork();
  readonly database = new SimulatedDatabase(() => this.clockwork.now, DESTINATIONS);
  readonly receivers: Receivers;
  readonly queues = new SimulatedQueues(() => this.clockwork.now);
  readonly troubles: Troubles;
  readonly ledger = new Ledger();
  readonly machines: readonly Machine[];
  readonly slots: readonly Slot[];
  readonly failures: string[] = [];
  readonly #write: ((line: string) => void) | undefined;

  constructor(seed: number, deliveries: number, write?: (line: string) => void) {
    this.seed = seed;
    this.setup = drawSetup(seed, deliveries);
    this.troubles = new Troubles(seed);
    this.receivers = new Receivers(this.database, seed);
    this.#write = write;
    const machine = (): Machine => ({ disk: new SimulatedDisk(DATA_DIR), clockAheadMs: 0 });
    const first = machine();
    const second = this.setup.sharesDirectory ? first : machine();
    this.machines = [...new Set([first, second]), machine(), machine()];
    const slot = (name: string, role: Slot['role'], on: Machine): Slot => ({
      name,
      role,
      machine: on,
      process: undefined,
      service: undefined,
      isStopping: false,
      isUpgraded: false,
      requests: new Map(),
      lives: 0,
    });
    const [third = first, fourth = first] = this.machines.slice(-2);
    this.slots = [
      slot('ingest-1', 'ingest', first),
      slot('ingest-2', 'ingest', second),
      slot('worker-1', 'worker', third),
      slot('worker-2', 'worker', fourth),
    ];
    for (const each of this.slots) this.start(each, 0);
  }

  get ingests(): readonly Slot[] {
    return this.slots.filter(({ role }) => role === 'ingest');
  }

  /** Starts a process after some time, unless it runs. */
  start(slot: Slot, afterMs: number): void {
    this.clockwork.after(afterMs, async () => {
      if (slot.process !== undefined) return;
      slot.lives += 1;
      const { clockwork, queues, database, troubles, receivers } = this;
      const { sealStep } = this.setup;
      const surroundings: Surroundings = { clockwork, queues, database, troubles, receivers, sealStep };
      const name = `${slot.name}.${slot.lives}`;
      const modules = await loadModules(slot.role, slot.isUpgraded);
      const process = new SimulatedProcess(name, this.seed, slot.machine, surroundings);
      runFor(process, modules);
      const onEnqueue = this.ledger.noteBegun.bind(this.ledger);
      const options = { setup: this.setup, dataDir: DATA_DIR, onEnqueue, logger: this.#loggerOf(name) };
      slot.service = process.begin?.(options);
      slot.process = process;
      slot.isStopping = false;
      this.log(name, () => 'started');
    });
  }

  /** Ends a process at once. It starts again after `downMs`. */
  kill(slot: Slot, downMs: number, isSilent = false): void {
    const { process } = slot;
    if (process === undefined) return;
    this.log(process.name, () => 'ended');
    process.end();
    slot.process = undefined;
    slot.service = undefined;
    const noticedMs = isSilent ? process.random.int(0, NOTICED_MS) : 1;
    this.clockwork.after(noticedMs, () => {
      for (const session of process.connections) this.database.disconnect(session);
    });
    for (const reset of slot.requests.keys()) reset();
    slot.requests.clear();
    this.start(slot, downMs);
  }

  /** SIGTERM. */
  terminate(slot: Slot, downMs: number): void {
    const { process } = slot;
    if (process === undefined || slot.isStopping) return;
    this.log(process.name, () => 'SIGTERM');
    slot.isStopping = true;
    const end = () => {
      if (slot.process === process) this.kill(slot, downMs);
    };
    const stop = () => {
      if (slot.requests.size > 0) process.after(10, stop);
      else slot.service?.stop().then(end, (error: unknown) => this.fail(`a stop failed: ${String(error)}`));
    };
    stop();
    this.clockwork.after(STOP_MS, end);
  }

  /** Whether nothing is left to do: no delivery waits anywhere. */
  isQuiet(): boolean {
    return (
      this.#jobs() === 0 &&
      this.#segments().length === 0 &&
      this.#behind().length === 0 &&
      this.slots.every(({ process }) => process !== undefined)
    );
  }

  /** Whether a delivery is where it was promised to be by now: in a row, on a disk, or, unless that is strict, in a queue. */
  isDurable(deliveryId: string): boolean {
    if (!this.setup.isStrict && this.queues.hasDelivery(deliveryId)) return true;
    if (this.database.rowsOf('deliveries').has(deliveryId)) return true;
    const segments = this.machines.flatMap(({ disk }) => [...disk.segments.values()]);
    // It is mostly at the end of the one that was written last, and to look through all others took a fifth of a long run.
    return segments
      .toSorted((a, b) => b.mtimeMs - a.mtimeMs)
      .some(({ synced }) => synced.lastIndexOf(deliveryId, undefined, 'latin1') !== -1);
  }

  describeRest(): string {
    const ended = this.slots.filter(({ process }) => process === undefined).map(({ name }) => name);
    return `${this.#jobs()} jobs in queues, segments ${this.#segments().join(' ')}, ended ${ended.join(' ')}, behind ${this.#behind().join(' ')}`;
  }

  /** Which destinations have not all events. */
  #behind(): readonly string[] {
    if (!this.setup.forwards) return [];
    const { log } = this.database;
    const stored = EVENT_TABLES.reduce((sum, table) => sum + this.database.rowsOf(table).size, 0);
    return [
      ...DESTINATIONS.filter((name) => log.cursorOf(name) < log.next),
      ...(log.next < stored ? ['the log'] : []),
      ...(this.database.seal.size < log.next ? ['the seal'] : []),
    ];
  }

  #jobs(): number {
    return this.queues.all.values().reduce((sum, { jobs }) => sum + jobs.size, 0);
  }

  #segments(): readonly string[] {
    return this.machines.flatMap(({ disk }) => [...disk.segments.keys()]);
  }

  fail(what: string): void {
    this.failures.push(what);
    this.log('FAILED', () => what);
  }

  log(who: string, text: () => string): void {
    if (this.#write === undefined) return;
    const at = (this.clockwork.now / 1000).toFixed(4).padStart(10);
    this.#write(`${at}  ${who.padEnd(12)} ${text()}`);
  }

  /** Whether a spool has removed what it keeps for a failover, for want of space: one that loses commits then loses those. */
  hasKeptLess = false;

  /** A defect that the product finds in itself is a failure. */
  #loggerOf(name: string): Logger {
    const level = this.#write === undefined ? 'warn' : 'info';
    return pino(
      { level, base: null, timestamp: false },
      {
        write: (line: string) => {
          this.log(name, () => line.trim());
          if (line.includes('removed a kept spool segment early')) {
            this.hasKeptLess = true;
            for (const id of this.database.lostDeliveries) this.ledger.excused.add(id);
          }
          // Leases that could not be released run out.
          if (line.includes('not every destination stopped cleanly')) return;
          // The newer process reads what it wrote: otherwise the segment stays, which is found at the end.
          if (line.includes('belongs to a newer xiq-sink')) return;
          if (DEFECTS.some((words) => line.includes(words)))
            this.fail(`${name} says: ${line.trim().slice(0, 2_000)}`);
        },
      },
    );
  }
}

/** What the product logs when something happens for which it has no rule. */
const DEFECTS = [
  'could not be stored together',
  "can't store a batch; it will be retried",
  'a delivery could not be stored and was quarantined as a whole',
  'malformed deliveries in a job',
  "can't read a spool segment",
  'was not closed',
];
