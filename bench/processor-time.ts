import { readdir, readFile } from 'node:fs/promises';

/** Processor time of one process or thread since its start, in microseconds, user and system together. */
interface Task {
  readonly pid: number;
  readonly parent: number;
  readonly name: string;
  readonly own: number;
  /** Of its children that have ended. */
  readonly ended: number;
}

/** The processor time that was used up to one moment. */
export interface ProcessorTime {
  readonly tasks: ReadonlyMap<number, Task>;
  /** The threads of the measured program. */
  readonly threads: readonly Task[];
  /** All cores together, without idle time. */
  readonly machine: number;
}

/** `sysconf(_SC_CLK_TCK)`, which is 100 on every Linux for user space. */
const MICROSECONDS_PER_TICK = 10_000;

/** V8's thread that writes a profile; without the measurement there is none. */
const PROFILER_THREAD = 'v8:ProfEvntProc';

/** The parent of all threads of the kernel. */
const KTHREADD = 2;

/** Reads the processor time of all processes, and of the threads of one. Linux only. */
export async function readProcessorTime(pid: number): Promise<ProcessorTime> {
  const [tasks, threads, machine] = await Promise.all([
    readTasks('/proc'),
    readTasks(`/proc/${pid}/task`),
    readFile('/proc/stat', 'utf8'),
  ]);
  return { tasks: new Map(tasks.map((task) => [task.pid, task])), threads, machine: busyOf(machine) };
}

async function readTasks(directory: string): Promise<readonly Task[]> {
  const names = (await readdir(directory)).filter((name) => /^\d+$/.test(name));
  const tasks = await Promise.all(names.map(async (name) => readTask(`${directory}/${name}/stat`)));
  return tasks.filter((task) => task !== undefined);
}

/** Undefined if the process has just ended. */
async function readTask(file: string): Promise<Task | undefined> {
  const stat = await readFile(file, 'utf8').catch(() => '');
  // The name is in parentheses and may contain anything.
  const [, pid, name, rest] = /^(\d+) \((.*)\) (.*)$/s.exec(stat) ?? [];
  if (pid === undefined || name === undefined || rest === undefined) return undefined;
  const fields = rest.trim().split(' ').map(Number);
  const ticks = (from: number) => ((fields[from] ?? 0) + (fields[from + 1] ?? 0)) * MICROSECONDS_PER_TICK;
  return { pid: Number(pid), parent: fields[1] ?? 0, name, own: ticks(11), ended: ticks(13) };
}

/** user, nice and system, irq and softirq of the first line of /proc/stat. */
function busyOf(stat: string): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = stat
    .split(/\s+/)
    .slice(1, 8)
    .map(Number);
  return (user + nice + system + irq + softirq) * MICROSECONDS_PER_TICK;
}

/** Microseconds between two moments. */
export interface UsedTime {
  /** Of a process with all its children, also those that have ended. */
  ofFamily(pid: number): number;
  /** Of the children of a process that have ended in between. */
  ofEndedChildren(pid: number): number;
  /** Of the kernel's threads by name without numbers; empty if they cannot be seen, as in a container. */
  readonly kernel: ReadonlyMap<string, number>;
  /** Of the program's other threads by name, without that of V8's profiler. */
  readonly threads: ReadonlyMap<string, number>;
  /** Of the program's main thread. */
  readonly mainThread: number;
  readonly machine: number;
}

/** What was used from one moment to another. */
export function usedBetween(pid: number, before: ProcessorTime, after: ProcessorTime): UsedTime {
  const difference = (id: number, of: (task: Task) => number) => {
    const task = after.tasks.get(id);
    const earlier = before.tasks.get(id);
    return task === undefined ? 0 : of(task) - (earlier === undefined ? 0 : of(earlier));
  };
  const ofFamily = (id: number): number => {
    const children = [...after.tasks.values()].filter(({ parent }) => parent === id);
    const own = difference(id, (task) => task.own + task.ended);
    return children.reduce((sum, child) => sum + ofFamily(child.pid), own);
  };
  const kernel = new Map<string, number>();
  for (const { pid: id, parent, name } of after.tasks.values()) {
    if (parent === KTHREADD)
      add(
        kernel,
        name.replace(/[/:\d].*$/, ''),
        difference(id, ({ own }) => own),
      );
  }
  const threads = new Map<string, number>();
  let mainThread = 0;
  for (const thread of after.threads) {
    const used = thread.own - (before.threads.find((one) => one.pid === thread.pid)?.own ?? 0);
    if (thread.pid === pid) mainThread = used;
    else if (thread.name !== PROFILER_THREAD) add(threads, thread.name, used);
  }
  return {
    ofFamily,
    ofEndedChildren: (id) => difference(id, ({ ended }) => ended),
    kernel,
    threads,
    mainThread,
    machine: after.machine - before.machine,
  };
}

function add(sums: Map<string, number>, name: string, value: number): void {
  sums.set(name, (sums.get(name) ?? 0) + value);
}
