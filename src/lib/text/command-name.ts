import { realpathSync } from 'node:fs';
import path from 'node:path';

/** The launcher of this checkout or image: the absolute path of `bin/xiq-sink`. */
export const LAUNCHER = path.resolve(import.meta.dirname, '../../../bin/xiq-sink');

/** npm puts these folders on the PATH of what it runs, such as `npx xiq-sink`; another terminal does not have them. */
const NPM_PROGRAMS = path.join('node_modules', '.bin');

/**
 * What a person types here to run this program: `xiq-sink` when that is on the PATH and leads to this launcher, else
 * the shortest path of the launcher, such as `bin/xiq-sink`. Use it wherever a message names a command.
 */
export function commandName(): string {
  // The PATH is a fact about the shell and no setting of ours.
  // oxlint-disable-next-line node/no-process-env
  const directories = (process.env['PATH'] ?? '').split(path.delimiter).filter(Boolean);
  const usual = directories.filter((directory) => !directory.endsWith(NPM_PROGRAMS));
  if (usual.some((directory) => isLauncher(path.join(directory, 'xiq-sink')))) return 'xiq-sink';
  const fromHere = path.relative(process.cwd(), LAUNCHER);
  return fromHere.startsWith('..') ? LAUNCHER : fromHere;
}

function isLauncher(file: string): boolean {
  try {
    return realpathSync(file) === realpathSync(LAUNCHER);
  } catch {
    return false;
  }
}

/** A word as a POSIX shell reads it: in quotes if it contains anything that means something to a shell. */
export const quoteForShell = (word: string): string =>
  /^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
