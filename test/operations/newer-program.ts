import { cp, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';

const CHECKOUT = path.resolve(import.meta.dirname, '../..');

/** A migration that adds, and changes nothing that an older program uses. Its transaction pauses before its end. */
const migration = (pauseSeconds: number) => `
import { sql } from 'kysely';
export const olderProgramsMayRun = true;
export async function up(db) {
  await sql\`create table of_a_newer_version (id bigint primary key)\`.execute(db);
  await sql\`alter table destinations add column of_a_newer_version text\`.execute(db);
  await sql\`select pg_sleep(${pauseSeconds})\`.execute(db);
}
`;

/** What the next version of the jobs changes: a number that older workers do not know. */
const CHANGES: readonly (readonly [file: string, from: string, to: string])[] = [
  ['src/queue/delivery-batch.ts', 'z.literal([1, 2, 3])', 'z.literal([1, 2, 3, 4])'],
  ['src/queue/delivery-batch.ts', 'return { version,', 'return { version: 4,'],
];

/**
 * A version of this program that is newer than the checkout: its files with one more migration, and jobs of the next
 * version. Gives its command line.
 */
export async function makeNewerProgram(directory: string, pauseSeconds = 0): Promise<string> {
  for (const part of ['src', 'migrations', 'bin', 'emulator', 'package.json']) {
    await cp(path.join(CHECKOUT, part), path.join(directory, part), { recursive: true });
  }
  await symlink(path.join(CHECKOUT, 'node_modules'), path.join(directory, 'node_modules'));
  await writeFile(path.join(directory, 'migrations', '9999_newer.ts'), migration(pauseSeconds));
  for (const [file, from, to] of CHANGES) {
    const target = path.join(directory, file);
    const text = await readFile(target, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} does not contain ${from}`);
    await writeFile(target, text.replace(from, to));
  }
  return path.join(directory, 'bin', 'xiq-sink');
}
