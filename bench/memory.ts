import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** Resident memory of a process, in MB of 1,000,000 bytes. */
export interface Memory {
  readonly now: number;
  /** The peak since its start on Linux; the same as `now` on other systems, which do not report it. */
  readonly peak: number;
}

/** Reads the memory of a running process. Throws if no process with this id runs. */
export async function readMemory(pid: number): Promise<Memory> {
  if (process.platform !== 'linux') {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'rss=', '-p', String(pid)]);
    return { now: toMb(stdout), peak: toMb(stdout) };
  }
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const field = (name: string) => {
    const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
    // Until somebody has asked for its exit code, an ended process has a status, but no memory.
    if (kibibytes === undefined) throw new Error(`process ${pid} has ended`);
    return toMb(kibibytes);
  };
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

function toMb(kibibytes: string): number {
  return (Number(kibibytes) * 1_024) / 1_000_000;
}

/** Follows the memory of a process. */
export interface MemoryWatch extends Disposable {
  /** The highest value so far, in MB. */
  peak(): Promise<number>;
}

const INTERVAL_MS = 500;

/** Watches a process until disposed of. */
export function watchMemory(pid: number): MemoryWatch {
  let peak = 0;
  const sample = async () => {
    peak = Math.max(peak, (await readMemory(pid)).peak);
    return peak;
  };
  // If the process has ended, the code that waits for its answers finds out.
  const timer = setInterval(() => void sample().catch(() => undefined), INTERVAL_MS);
  return { peak: sample, [Symbol.dispose]: () => clearInterval(timer) };
}
