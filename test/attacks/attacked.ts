import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
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

/** Runs one of the attackers of this directory to its end, in a process of its own. Resolves with what it printed. */
export async function attack(script: string, options: object): Promise<string> {
  const file = path.join(import.meta.dirname, script);
  const { stdout } = await run(process.execPath, [file, JSON.stringify(options)]);
  return stdout;
}
