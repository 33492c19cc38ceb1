import { setTimeout as sleep } from 'node:timers/promises';
import { median } from './against-base.ts';
import { applyLoad } from './apply-load.ts';
import { readMemory } from './memory.ts';
import { TARGETS } from './targets/all.ts';
import type { TargetName } from './targets/all.ts';
import { openPlace } from './targets/target.ts';
import type { WorkloadName } from './workloads.ts';

/** The resident memory of the program at one moment of the load. */
export interface MemorySample {
  /** Since the load began. */
  readonly seconds: number;
  /** MB of 1,000,000 bytes. */
  readonly memory: number;
}

/** The results of a soak. */
export interface Soak {
  readonly target: TargetName;
  readonly workload: WorkloadName;
  readonly samples: readonly MemorySample[];
  /** Medians of the second and of the last third of the samples; in the first third the heap finds its size. */
  readonly earlier: number;
  readonly later: number;
  /** Whether `later` is at most a tenth above `earlier`. */
  readonly flat: boolean;
  readonly peakMemory: number;
  readonly acknowledged: number;
  readonly deliveriesPerSecond: number;
}

const TARGET = 'redis';
const WORKLOAD = 'audit-1';
const SAMPLE_SECONDS = 10;
const FLAT_WITHIN = 1.1;

/** Applies the full load to the program on Redis for a number of minutes and watches its memory. */
export async function soak(
  minutes: number,
  onSample: (sample: MemorySample) => void,
  signal: AbortSignal,
): Promise<Soak> {
  await using place = await openPlace(signal);
  const running = await TARGETS[TARGET].start(place);
  const samples: MemorySample[] = [];
  const ended = new AbortController();
  const sampling = sampleMemory(running.pid, AbortSignal.any([ended.signal, signal]), (sample) => {
    samples.push(sample);
    onSample(sample);
  });
  const load = await applyLoad({ ...running, workload: WORKLOAD, seconds: minutes * 60 }, signal);
  const { peak } = await readMemory(running.pid);
  ended.abort();
  await sampling;
  const third = samples.length / 3;
  const earlier = median(samples.slice(third, 2 * third).map(memoryOf));
  const later = median(samples.slice(2 * third).map(memoryOf));
  return {
    target: TARGET,
    workload: WORKLOAD,
    samples,
    earlier,
    later,
    flat: later <= earlier * FLAT_WITHIN,
    peakMemory: peak,
    acknowledged: load.acknowledged,
    deliveriesPerSecond: (load.acknowledged * 1_000) / (load.endedAt - load.startedAt),
  };
}

const memoryOf = ({ memory }: MemorySample) => memory;

async function sampleMemory(
  pid: number,
  signal: AbortSignal,
  onSample: (sample: MemorySample) => void,
): Promise<void> {
  for (let seconds = SAMPLE_SECONDS; !signal.aborted; seconds += SAMPLE_SECONDS) {
    await sleep(SAMPLE_SECONDS * 1_000, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted) onSample({ seconds, memory: (await readMemory(pid)).now });
  }
}
