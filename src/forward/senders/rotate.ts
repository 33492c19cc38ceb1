import { rename } from 'node:fs/promises';
import { isMissingFile } from '../../durable-file.ts';

/**
 * Makes `path` into `path.1`, what that was into `path.2`, and so on; what was the last of `keep` is gone. Ended
 * half-way it leaves a gap in the numbers, which the next time moves up.
 */
export async function rotate(path: string, keep: number): Promise<void> {
  for (let number = keep - 1; number >= 1; number--) {
    await renameIfThere(`${path}.${number}`, `${path}.${number + 1}`);
  }
  await renameIfThere(path, `${path}.1`);
}

async function renameIfThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!isMissingFile(error)) throw error;
  }
}
