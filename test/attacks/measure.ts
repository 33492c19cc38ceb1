import { readFile } from 'node:fs/promises';
import { postDelivery, type Program } from '../support/program.ts';
import { auditRecord } from '../support/deliveries.ts';

/** How long each attack takes. */
export const ATTACK_SECONDS = Number(process.env['ATTACK_SECONDS'] ?? 10);

/** Whether this is the short form, which runs with each change. */
export const IS_SHORT = ATTACK_SECONDS < 10;

/**
 * What a good delivery may wait at p99, and how much memory the program may take. In the short form, one attack follows
 * the other before the garbage of the one before is collected.
 */
export const MOST_MS = IS_SHORT ? 1_000 : 500;
export const MOST_MB = IS_SHORT ? 1_000 : 500;

/** A good delivery is sent this often, whether or not the one before is answered. */
const PERIOD_MS = 50;

/** Good deliveries beside an attack, in milliseconds from the time when each was due to its answer. */
export interface Measured {
  readonly deliveries: number;
  readonly p50: number;
  readonly p99: number;
  readonly worst: number;
  /** MB of resident memory of the program: the most that was seen. */
  readonly memory: number;
}

/** Sends good deliveries until the attack ends. Throws if one of them does not get a 200. */
export async function measureDeliveries(program: Program, attack: Promise<unknown>): Promise<Measured> {
  const latencies: Promise<number>[] = [];
  let memory = 0;
  const deliver = async () => {
    const due = performance.now();
    const response = await postDelivery(program, 'AUDIT_LOG_ALL', [
      auditRecord({ userId: latencies.length }),
    ]);
    if (response.status !== 200) throw new Error(`a good delivery was answered ${response.status}`);
    await response.text();
    const latency = performance.now() - due;
    memory = Math.max(memory, await memoryMb(program));
    return latency;
  };
  const timer = setInterval(() => void latencies.push(deliver()), PERIOD_MS);
  await attack.finally(() => clearInterval(timer));
  const times = await Promise.all(latencies);
  const at = (share: number) => percentile(times, share);
  return { deliveries: times.length, p50: at(0.5), p99: at(0.99), worst: at(1), memory };
}

/** The time that this share of all times does not exceed; NaN if there is none. */
export const percentile = (times: readonly number[], share: number) =>
  times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1] ?? Number.NaN;

/** MB of resident memory of a process. */
export async function memoryMb({ pid }: Program): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** One line of figures, beside those of the time before the measure. */
export function printMeasured(
  name: string,
  { deliveries, p50, p99, worst, memory }: Measured,
  before: string,
): void {
  const figures = `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, worst ${worst.toFixed(1)} ms, memory ${memory.toFixed(0)} MB`;
  process.stdout.write(`${name}: ${deliveries} good deliveries, ${figures} (before: ${before})\n`);
}
