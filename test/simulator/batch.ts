/** The thread that simulates: it answers each history with its outcome, and in the end tells what was executed. */
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { startCoverage } from './coverage.ts';
import { plant } from './lives.ts';
import { PLANTS } from './plants.ts';
import { simulate, type History } from './simulate.ts';

/** What a thread is told when it starts. */
const Started = z.object({ plant: z.string().optional(), isLogged: z.boolean(), isCovered: z.boolean() });

const { plant: name, isLogged, isCovered } = Started.parse(workerData);
plant(PLANTS.find((each) => each.name === name));
const readCoverage = isCovered ? await startCoverage() : undefined;
// Nobody reads where the errors of simulated edges come from, and to write it takes a tenth of the time.
if (!isLogged) Error.stackTraceLimit = 0;
parentPort?.on('message', (message: History | 'coverage') => void answer(message));

async function answer(message: History | 'coverage'): Promise<void> {
  if (message === 'coverage') return parentPort?.postMessage(await readCoverage?.());
  const lines: string[] = [];
  const outcome = await simulate(message, isLogged ? (line) => void lines.push(line) : undefined);
  parentPort?.postMessage({ ...outcome, lines });
}
