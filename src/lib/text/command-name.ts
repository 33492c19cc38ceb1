import { realpathSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.resolve(import.meta.dirname, '../../..');

/** The launcher of this checkout or image: the absolute path of `bin/xiq-sink`. */
export const LAUNCHER = path.join(ROOT, 'bin/xiq-sink');

/** Possible targets of `xiq-sink` on the PATH: the launcher, or the script that runs it like the systemd service. */
const COMMANDS = ['bin/xiq-sink', 'deploy/as-service'];

/** npm puts these folders on the PATH of what it runs, such as `npx xiq-sink`; another terminal does not have them. */
const NPM_PROGRAMS = path.join('node_modules', '.bin');

/**
 * The command that runs this program here: `xiq-sink` if that is on the PATH and is this program, else
 * the shortest path of the launcher, such as `bin/xiq-sink`. Use it wherever a message names a command.
 */
export function commandName(): string {
  // The PATH is a fact about the shell and no setting of ours.
  // oxlint-disable-next-line node/no-process-env
  const directories = (process.env['PATH'] ?? '').split(path.delimiter).filter(Boolean);
  const usual = directories.filter((directory) => !directory.endsWith(NPM_PROGRAMS));
  if (usual.some((directory) => leadsHere(path.join(directory, 'xiq-sink')))) return 'xiq-sink';
  const fromHere = path.relative(process.cwd(), LAUNCHER);
  return fromHere.startsWith('..') ? LAUNCHER : fromHere;
}

function leadsHere(file: string): boolean {
  try {
    const root = realpathSync(ROOT);
    return COMMANDS.some((command) => realpathSync(file) === path.join(root, command));
  } catch {
    return false;
  }
}

/** A word as a POSIX shell reads it: in quotes if it contains anything that means something to a shell. */
export const quoteForShell = (word: string): string =>
  /^[\w./:@%+,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
