import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** The path of a program in the first of the directories that has it. */
export const findExecutable = (name: string, directories: readonly string[]) =>
  directories.map((directory) => path.join(directory, name)).find(isExecutable);

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
