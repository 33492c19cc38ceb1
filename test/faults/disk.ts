import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rmdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Makes this directory a disk of so many bytes, in memory. Gives what takes it away again. */
export async function mountSmallDisk(directory: string, bytes: number): Promise<() => Promise<void>> {
  await mkdir(directory, { recursive: true });
  await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=700`, 'tmpfs', directory]);
  return async () => void (await run('umount', [directory]));
}

/** Why no disk can be mounted here; undefined when one can. */
export async function whyNoMount(): Promise<string | undefined> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-mount-'));
  try {
    const unmount = await mountSmallDisk(directory, 64 * 1024);
    await unmount();
    return undefined;
  } catch {
    return 'mounting a disk is not permitted here';
  } finally {
    await rmdir(directory);
  }
}
