import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { unlessMissing } from '../lib/files/durable-file.ts';
import { describeError, UsageError } from '../lib/errors.ts';

const run = promisify(execFile);

interface Ids {
  readonly uid: number;
  readonly gid: number;
}

/** Whom the server's programs run as. Postgres refuses to run as root. */
export interface ServerUser {
  /** For people: what follows "runs as". */
  readonly description: string;
  /** The owner of the server's files. Undefined: the user who runs this program. */
  readonly owner?: Ids;
  /** The command that runs the programs, with its options. Empty: none is needed. */
  readonly wrapper: readonly string[];
  /** The user that this program starts that command as. Undefined: its own. */
  readonly spawnAs?: Ids;
}

const SAME_USER: ServerUser = { description: "this program's user", wrapper: [] };

/** The user `nobody`, which exists nearly everywhere: initdb looks its own name up. */
const NOBODY = 65_534;

/** Root is called nobody in the namespace, and has no rights there but those of the owner of its files. */
const ROOT_IN_NAMESPACE: ServerUser = {
  description: 'root in a user namespace',
  owner: { uid: 0, gid: 0 },
  wrapper: ['unshare', '--user', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`],
};

const asUser = (description: string, ids: Ids): ServerUser => ({
  description,
  owner: ids,
  wrapper: [],
  spawnAs: ids,
});

/** Either lets a user pass through the private directories of others. Containers often withhold the lesser one. */
const PASSAGES = ['dac_read_search', 'dac_override'];

const asUserWithPassage = (description: string, ids: Ids, capability: string): ServerUser => ({
  description: `${description} with the capability ${capability}`,
  owner: ids,
  wrapper: [
    'setpriv',
    `--reuid=${ids.uid}`,
    `--regid=${ids.gid}`,
    '--clear-groups',
    // access(2), by which initdb looks for the server's program, otherwise ignores the capabilities of all users but root.
    '--securebits=+no_setuid_fixup',
    `--inh-caps=+${capability}`,
    `--ambient-caps=+${capability}`,
  ],
});

/**
 * Finds a user for the server of a data directory that reaches its program and the directory above its data. Throws a
 * UsageError that says what to do if there is none.
 */
export async function findServerUser(program: string, directory: string): Promise<ServerUser> {
  if (process.getuid?.() !== 0) return SAME_USER;
  const home = path.dirname(directory);
  let cause: unknown;
  for await (const user of possibleUsers(directory)) {
    try {
      await runAsServer(user, 'ls', ['-d', program, `${home}/.`]);
      return user;
    } catch (error) {
      cause = error;
    }
  }
  throw new UsageError(
    `Postgres does not run as root, and no other user can reach both ${program} and ${home}. ` +
      'Allow all users to traverse their directories (chmod a+x), start as another user, or set DATABASE_URL.',
    { cause },
  );
}

/** The best one first. Root owns a data directory that was made in a namespace. */
async function* possibleUsers(directory: string): AsyncGenerator<ServerUser> {
  const owner = await unlessMissing(stat(directory), undefined);
  const isOfRoot = owner === undefined || owner.uid === 0;
  if (isOfRoot) yield ROOT_IN_NAMESPACE;
  const ids = isOfRoot ? await postgresUser() : { uid: owner.uid, gid: owner.gid };
  const description = `the user ${await nameOf(ids)}`;
  yield asUser(description, ids);
  for (const capability of PASSAGES) yield asUserWithPassage(description, ids, capability);
}

/** The number, if the user has no name. */
const nameOf = ({ uid }: Ids) =>
  run('id', ['-nu', String(uid)]).then(
    ({ stdout }) => stdout.trim(),
    () => uid,
  );

/** Creates the user unless it exists. */
async function postgresUser(): Promise<Ids> {
  const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
  const ids = async () => ({ uid: await id('-u'), gid: await id('-g') });
  try {
    return await ids();
  } catch {
    try {
      await run('useradd', ['--system', '--user-group', '--no-create-home', 'postgres']);
      return await ids();
    } catch (error) {
      throw new UsageError(
        'Postgres does not run as root, user namespaces are not allowed here, and the user "postgres" could not be ' +
          'created. Start as another user, create one named postgres, or set DATABASE_URL.',
        { cause: error },
      );
    }
  }
}

/** A program of the server for `spawn` or `execFile`. */
export function serverCommand({ wrapper, spawnAs }: ServerUser, program: string, args: readonly string[]) {
  const [command = program, ...rest] = [...wrapper, program, ...args];
  return { command, args: rest, options: { cwd: '/', ...spawnAs } };
}

/** Runs a program of the server to its end. Throws what it complained about. */
export async function runAsServer(
  user: ServerUser,
  program: string,
  programArgs: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const { command, args, options } = serverCommand(user, program, programArgs);
  try {
    await run(command, args, { ...options, signal });
  } catch (error) {
    throw new Error(`${path.basename(program)} failed: ${describeError(error)}`, { cause: error });
  }
}
