import { setPriority } from 'node:os';

/** The nice value of threads whose work may wait. */
const NICE = 10;

/** Lets other threads go first where the processor is busy. Call it in a thread: elsewhere than on Linux it does nothing. */
export function yieldProcessor(): void {
  // On Linux this is the priority of the calling thread, on other systems of the whole process.
  if (process.platform === 'linux') setPriority(NICE);
}
