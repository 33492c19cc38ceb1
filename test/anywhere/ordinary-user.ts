import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { quoteForShell } from '../../src/lib/text/command-name.ts';
import { isRoot } from './machine.ts';
import type { Ground } from './place.ts';
import { run, type Shell } from './shell.ts';

/** Somebody without any rights, whose home (of mode 700) is below the place's directory. */
export interface OrdinaryUser {
  /** In the home. */
  readonly shell: Shell;
  /** Gives a directory with all that is in it to the user. */
  readonly own: (directory: string) => Promise<void>;
}

/** Makes a user for as long as the place is there. Whoever runs the script without being root is one already. */
export async function createOrdinaryUser({ directory, shell, afterwards }: Ground): Promise<OrdinaryUser> {
  const home = path.join(directory, 'home');
  await mkdir(home, { mode: 0o700 });
  const atHome = { ...shell, directory: home, env: { ...shell.env, HOME: home } };
  if (!isRoot) return { shell: atHome, own: async () => undefined };
  const name = `xiq-${randomBytes(4).toString('hex')}`;
  await run(shell, `useradd --home-dir ${quoteForShell(home)} --shell /bin/sh ${name}`, 10);
  afterwards(`userdel ${name}`);
  const own = async (file: string) => void (await run(shell, `chown -R ${name}: ${quoteForShell(file)}`, 30));
  await own(home);
  const enter = ['setpriv', `--reuid=${name}`, `--regid=${name}`, '--clear-groups'];
  return { shell: { ...atHome, enter }, own };
}
