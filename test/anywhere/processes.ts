import { readdir, readlink } from 'node:fs/promises';
import { waitFor } from '../support/wait-for.ts';

/** The processes that work in a directory, or whose program lies in it. */
export async function processesIn(directory: string): Promise<number[]> {
  const ids = (await readdir('/proc')).map(Number).filter((id) => id > 0 && id !== process.pid);
  const inside = await Promise.all(ids.map(async (id) => ((await isIn(id, directory)) ? [id] : [])));
  return inside.flat();
}

async function isIn(id: number, directory: string): Promise<boolean> {
  const links = await Promise.all(
    ['cwd', 'exe'].map((name) => readlink(`/proc/${id}/${name}`).catch(() => undefined)),
  );
  return links.some((link) => link === directory || link?.startsWith(`${directory}/`));
}

/** Ends them: by SIGINT, on which Postgres leaves no shared memory behind, and what still runs then by SIGKILL. */
export async function endProcessesIn(directory: string): Promise<void> {
  const isEmpty = async () => (await processesIn(directory)).length === 0;
  for (const name of ['SIGINT', 'SIGKILL'] as const) {
    for (const id of await processesIn(directory)) signalProcess(id, name);
    if (await waitFor(isEmpty, 10_000).catch(() => false)) return;
  }
  throw new Error(`processes of ${directory} do not end`);
}

function signalProcess(id: number, name: NodeJS.Signals): void {
  try {
    process.kill(id, name);
  } catch {
    // It has ended meanwhile.
  }
}
