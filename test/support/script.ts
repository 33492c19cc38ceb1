import { describeError } from '../../src/lib/errors.ts';

/** Prints a line. */
export const print = (text: string) => void process.stdout.write(`${text}\n`);

/**
 * Does the work of a script that Ctrl-C and SIGTERM stop in order: what runs is then thrown away, and a further signal
 * changes nothing. The exit code is 1 if the work resolves with false, throws or is stopped.
 */
export async function runScript(work: (signal: AbortSignal) => Promise<boolean>): Promise<void> {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => controller.abort());
  try {
    if (await work(controller.signal)) return;
  } catch (error) {
    const message = controller.signal.aborted ? 'stopped; nothing is left behind' : describeError(error);
    process.stderr.write(`${message}\n`);
  }
  process.exitCode = 1;
}

/** Makes a row of each item, so many at a time; gives them in the order of the items. */
export async function runInLanes<Item, Row>(
  items: readonly Item[],
  lanes: number,
  run: (item: Item) => Promise<Row>,
): Promise<Row[]> {
  const rows: Row[] = [];
  const left = items.entries();
  const runOneByOne = async () => {
    for (const [index, item] of left) rows[index] = await run(item);
  };
  const ended = await Promise.allSettled(Array.from({ length: lanes }, runOneByOne));
  for (const lane of ended) if (lane.status === 'rejected') throw lane.reason;
  return rows;
}

/** Ends the process. Node.js 24 may wait for ever, when it ends by itself, for a socket that a frozen server left half closed. */
export const exitNow = () => void process.stdout.write('', () => process.exit());
