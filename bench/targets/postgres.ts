import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { z } from 'zod';
import { startEmbeddedPostgres } from '../../src/embedded/embedded-postgres.ts';
import { OWNER } from '../../src/store/server/roles/roles.ts';
import type { Place } from './target.ts';

/** Starts a database for the lifetime of the place. */
export async function startPostgres(place: Place) {
  stopPostgresWith(place);
  return startEmbeddedPostgres(place.dataDir);
}

/** Starts a database in which programs other than xiq-sink may create their tables. */
export async function startOpenPostgres(place: Place) {
  const urls = await startPostgres(place);
  const client = new Client({ connectionString: urls.migrationUrl });
  await client.connect();
  try {
    await client.query(`set role ${OWNER}`);
    await client.query('grant create on schema public to public');
  } finally {
    await client.end();
  }
  return urls;
}

/**
 * Makes sure that no database server outlives the place, whatever the state of its start or its program. Call it before
 * you start the programs that use the server, so they end first.
 */
export function stopPostgresWith(place: Place): void {
  place.cleanup.defer(async () => {
    // SIGINT is the server's fast shutdown, after which it removes the file; signal 0 only checks that it exists.
    let running = send(await postgresPid(place), 'SIGINT');
    while (running) {
      await sleep(50);
      running = send(await postgresPid(place), 0);
    }
  });
}

/** The process id of the place's database server; 0 if it is not running. */
export async function postgresPid(place: Place): Promise<number> {
  const file = path.join(place.dataDir, 'postgres', 'cluster', 'postmaster.pid');
  return Number((await readFile(file, 'utf8').catch(() => '')).split('\n')[0]);
}

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return pid > 0 && process.kill(pid, signal);
  } catch {
    return false;
  }
}

const One = z.tuple([z.tuple([z.string()])]);

/** Queries the database for one value, as text. */
export type AskDatabase = (statement: string) => Promise<string>;

/** Connects to the database for the lifetime of the place. */
export async function connectDatabase(
  databaseUrl: string,
  { cleanup }: Pick<Place, 'cleanup'>,
): Promise<AskDatabase> {
  const client = new Client({ connectionString: databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  cleanup.defer(() => client.end());
  return async (text) => {
    const { rows } = await client.query({ text, rowMode: 'array' });
    return One.parse(rows)[0][0];
  };
}
