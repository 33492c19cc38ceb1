import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitFor } from '../support/wait-for.ts';

const run = promisify(execFile);

/** Private, as the home of root is: no other user passes through. */
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(path.join(os.tmpdir(), 'xiq-sink-private-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

/** The environment of a machine where these programs fail, as they do where the system forbids what they do. */
async function withoutPrograms(...names: string[]): Promise<NodeJS.ProcessEnv> {
  const place = await mkdtemp(path.join(directory, 'programs-'));
  for (const name of names) {
    await writeFile(path.join(place, name), '#!/bin/sh\necho "Operation not permitted" >&2\nexit 1\n', {
      mode: 0o755,
    });
  }
  return { ...process.env, PATH: `${place}:${process.env['PATH']}` };
}

/** Runs statements in a process of its own, with `dataDir`, and functions of the embedded database. */
async function inProcess(
  dataDir: string,
  statements: string,
  env: NodeJS.ProcessEnv,
  launcher: readonly string[] = [],
): Promise<string> {
  const script = `
    import { beginRestore, unpackBaseBackup, writeBaseBackup } from './src/embedded/base-backup.ts';
    import { markRestoring, openCluster } from './src/embedded/cluster.ts';
    import { bootstrapUrl, keepCredentials } from './src/embedded/credentials.ts';
    import { startEmbeddedPostgres } from './src/embedded/embedded-postgres.ts';
    import { withClient } from './src/store/server/postgres.ts';
    const dataDir = process.argv[1];
    const query = async (text) =>
      withClient(bootstrapUrl(await keepCredentials(dataDir + '/postgres')), (client) => client.query(text));
    ${statements}`;
  const [command, ...args] = [
    ...launcher,
    process.execPath,
    '--input-type=module',
    '--eval',
    script,
    dataDir,
  ];
  const { stdout } = await run(command, args, { env });
  return stdout.trim();
}

const START = 'const server = await startEmbeddedPostgres(dataDir);';

const DESCRIBE = `
  console.log((await openCluster(dataDir)).user.description);`;

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const ownerOf = async (dataDir: string) => (await stat(path.join(dataDir, 'postgres', 'cluster'))).uid;

const ways = [
  { name: 'in a user namespace', denied: [], launcher: [], runsAs: 'root in a user namespace' },
  {
    name: 'without user namespaces',
    denied: ['unshare'],
    launcher: [],
    runsAs: 'the user postgres with the capability dac_read_search',
  },
  {
    name: 'in a container without user namespaces',
    denied: ['unshare'],
    launcher: ['setpriv', '--inh-caps=-dac_read_search', '--bounding-set=-dac_read_search'],
    runsAs: 'the user postgres with the capability dac_override',
  },
];

describe.runIf(process.getuid?.() === 0)('the server of root in a private directory', () => {
  describe.each(ways)('$name', ({ name, denied, launcher, runsAs }) => {
    const dataDir = () => path.join(directory, name);
    const inWay = async (statements: string) =>
      inProcess(dataDir(), statements, await withoutPrograms(...denied), launcher);

    it('runs as another user for Postgres, and leaves all directories private', async () => {
      expect(await inWay(`${START} ${DESCRIBE} await server.stop();`)).toBe(runsAs);
      for (const part of ['', 'postgres', 'postgres/cluster']) {
        expect((await stat(path.join(dataDir(), part))).mode & 0o777).toBe(0o700);
      }
    });

    it('survives its starter, is taken over, and stops at either kind of signal', async () => {
      for (const mode of ['fast', 'immediate']) {
        await inWay(`${START} await query('create table if not exists kept ()');
          process.kill(process.pid, 'SIGKILL');`).catch(() => undefined);
        const taken = await inWay(
          `${START} console.log(server.started); await query('table kept'); await server.stop('${mode}');`,
        );
        expect(taken).toBe('false');
        await expect(readFile(path.join(dataDir(), 'postgres', 'cluster', 'postmaster.pid'))).rejects.toThrow(
          'ENOENT',
        );
      }
    });

    it('recovers after its death, and starts where another program has its process id', async () => {
      const lockFile = path.join(dataDir(), 'postgres', 'cluster', 'postmaster.pid');
      await inWay(START);
      const pid = Number((await readFile(lockFile, 'utf8')).split('\n')[0]);
      const { stdout: children } = await run('ps', ['--ppid', String(pid), '-o', 'pid=']);
      process.kill(pid, 'SIGKILL');
      // They notice it, and free the shared memory, which the next server checks.
      await waitFor(() => children.split('\n').every((child) => child === '' || !isRunning(Number(child))));
      const readKept = `${START} console.log((await query('table kept')).rowCount); await server.stop();`;
      expect(await inWay(readKept)).toBe('0');
      await writeFile(lockFile, `${process.pid}\n/nowhere\n0\n1\n\n\n`, { mode: 0o600 });
      expect(await inWay(readKept)).toBe('0');
    });

    it('is copied and restored', async () => {
      const copy = path.join(directory, `${name}.tar.zst`);
      await inWay(`${START}
        await writeBaseBackup(dataDir, '${copy}', () => undefined, AbortSignal.timeout(60_000));
        await server.stop();`);
      const restored = await inWay(`
        const { signal } = new AbortController();
        const cluster = await beginRestore(dataDir);
        await unpackBaseBackup(cluster, '${copy}', signal);
        const server = await startEmbeddedPostgres(dataDir, signal, true);
        console.log((await query('table kept')).rowCount);
        await server.stop();
        await markRestoring(cluster, false);`);
      expect(restored).toBe('0');
    });
  });

  it('that a namespace made goes on where namespaces are forbidden, and stays with its new owner', async () => {
    const dataDir = path.join(directory, 'moved');
    const stop = `${START} ${DESCRIBE} await server.stop();`;
    await inProcess(dataDir, stop, process.env);
    expect(await ownerOf(dataDir)).toBe(0);
    const forbidden = await withoutPrograms('unshare');
    expect(await inProcess(dataDir, stop, forbidden)).toMatch('the user postgres');
    expect(await inProcess(dataDir, stop, process.env)).toMatch('the user postgres');
    expect(await ownerOf(dataDir)).not.toBe(0);
  });

  it('needs no capability where every user can pass, as in the installations of earlier versions', async () => {
    const home = path.join(os.tmpdir(), path.basename(directory) + '-public', 'postgres');
    try {
      await mkdir(home, { recursive: true });
      const described = await inProcess(path.dirname(home), DESCRIBE, await withoutPrograms('unshare'));
      expect(described).toBe('the user postgres');
    } finally {
      await rm(path.dirname(home), { recursive: true });
    }
  });

  it('finds no database again after its data directory was removed', async () => {
    const dataDir = path.join(directory, 'removed');
    const env = await withoutPrograms('unshare');
    await inProcess(dataDir, `${START} await query('create table kept ()'); await server.stop();`, env);
    await rm(dataDir, { recursive: true });
    const again = `${START}
      console.log(await query('table kept').catch(({ message }) => message)); await server.stop();`;
    expect(await inProcess(dataDir, again, env)).toBe('relation "kept" does not exist');
  });

  it('does not start where nothing lets a user pass: one sentence says what to do', async () => {
    const dataDir = path.join(directory, 'unreachable');
    const env = await withoutPrograms('unshare', 'setpriv');
    const failing = `await startEmbeddedPostgres(dataDir).catch(({ name, message }) => console.log(name, message));`;
    expect(await inProcess(dataDir, failing, env)).toMatch(
      /^UsageError Postgres does not run as root, and no other user can reach both .*chmod a\+x.*DATABASE_URL\.$/,
    );
  });
});
