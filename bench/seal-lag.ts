import { setTimeout as sleep } from 'node:timers/promises';
import { applyLoad } from './apply-load.ts';
import { connectDatabase } from './targets/postgres.ts';
import { openPlace } from './targets/target.ts';
import { startOnRedis } from './targets/xiq-sink.ts';

/*
 * How far the seal is behind at full load: node bench/seal-lag.ts [WORKLOAD] [SECONDS]. Run it on a machine that does
 * nothing else.
 */

const WORKLOADS = ['audit-1', 'audit-20'] as const;
const workload = WORKLOADS.find((name) => name === process.argv[2]) ?? 'audit-20';
const seconds = Number(process.argv[3] ?? 150);
const LOOK_MS = 1_000;

const signal = AbortSignal.timeout(60 * 60_000);

await using place = await openPlace(signal);
const running = await startOnRedis(place);
const ask = await connectDatabase(running.databaseUrl, place);
const events = async () => Number(await ask('select next_position from log_state'));
const sealedEvents = async () =>
  Number(await ask('select coalesce(max(first_position + leaves), 0) from log_seals'));

/** How many events the log had at which time, for those times whose events are not all sealed. */
const looks: { readonly at: number; readonly events: number }[] = [];

/** Seconds for which an event has been in the log without a seal. */
async function lagNow(): Promise<number> {
  const now = performance.now();
  looks.push({ at: now, events: await events() });
  const sealed = await sealedEvents();
  while ((looks[0]?.events ?? Infinity) <= sealed) looks.shift();
  return (now - (looks[0]?.at ?? now)) / 1_000;
}

const load = applyLoad({ ...running, workload, seconds }, signal);
const [began, before] = [performance.now(), await events()];
const over = new AbortController();
let longest = 0;
const watching = (async () => {
  while (!over.signal.aborted) {
    longest = Math.max(longest, await lagNow());
    await sleep(LOOK_MS);
  }
})();
await load;
over.abort();
await watching;
const rate = ((await events()) - before) / ((performance.now() - began) / 1_000);
console.log(
  `${workload}, ${seconds} s: ${rate.toFixed(0)} events/s stored, sealed at the latest after ${longest.toFixed(0)} s`,
);
