/** The thread that simulates: it answers each history with its outcome. */
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { plant, registerLives } from './hooks.ts';
import { PLANTS } from './plants.ts';
import { simulate, type History } from './simulate.ts';

/** What a thread is told when it starts. */
const Started = z.object({ plant: z.string().optional(), isLogged: z.boolean() });

const { plant: name, isLogged } = Started.parse(workerData);
plant(PLANTS.find((each) => each.name === name));
registerLives();
// Nobody reads where the errors of simulated edges come from, and to write it takes a tenth of the time.
if (!isLogged) Error.stackTraceLimit = 0;
parentPort?.on('message', (history: History) => void answer(history));

async function answer(history: History): Promise<void> {
  const lines: string[] = [];
  const outcome = await simulate(history, isLogged ? (line) => void lines.push(line) : undefined);
  parentPort?.postMessage({ ...outcome, lines });
}
