import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { SECRET, startProgram, temporaryDirectory, type Program } from '../support/program.ts';

/** The real program on a database of its own, to be attacked. */
export interface Attacked {
  readonly program: Program;
  readonly database: TestDatabase;
  stop(): Promise<void>;
}

/** Starts the program with the queue in Postgres. */
export async function startAttacked(settings: Readonly<Record<string, string>> = {}): Promise<Attacked> {
  const database = await createTestDatabase();
  const directory = await temporaryDirectory();
  const program = await startProgram({
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    WEBHOOK_SECRET: SECRET,
    ...settings,
  });
  return {
    program,
    database,
    async stop() {
      await program.end('SIGTERM');
      await database.drop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

const run = promisify(execFile);

/**
 * Runs one of the attackers of this directory to its end, in a process of its own. Resolves with what it printed. It would
 * be on a machine of its own: here it gets what the service, its database and the good sender leave.
 */
export async function attack(script: string, options: object): Promise<string> {
  const file = path.join(import.meta.dirname, script);
  const { stdout } = await run('nice', ['-n', '19', process.execPath, file, JSON.stringify(options)]);
  return stdout;
}

/** What a source sends: see `flood-source.ts`. */
export interface Flood {
  readonly bodies: readonly string[];
  readonly connections: number;
  readonly requests?: number | null;
  readonly stalls?: boolean;
}

/** Sends as much as it can to a URL. Resolves with the answers by status; 0 stands for connections that broke. */
export async function flood(url: string, what: Flood, seconds: number): Promise<Record<string, number>> {
  const options = { requests: null, stalls: false, ...what, url, secret: SECRET, seconds };
  return z.record(z.string(), z.number()).parse(JSON.parse(await attack('flood-source.ts', options)));
}
