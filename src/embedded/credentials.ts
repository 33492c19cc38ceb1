import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import getPort from 'get-port';
import { z } from 'zod';

/** The port of the embedded database, kept from start to start, and the passwords of its roles. */
const Credentials = z.object({ port: z.number(), ownerPassword: z.string(), readerPassword: z.string() });

export type Credentials = z.infer<typeof Credentials>;

/** The name of the database in the embedded server. */
export const DATABASE = 'xiq_sink';

const READER = 'xiq_reader';

/** Reads the credentials in a directory, or generates them if there are none. Throws if they are unreadable. */
export async function keepCredentials(home: string): Promise<Credentials> {
  const file = credentialsFile(home);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    const credentials = {
      port: await getPort({ host: '127.0.0.1' }),
      ownerPassword: randomBytes(24).toString('hex'),
      readerPassword: randomBytes(24).toString('hex'),
    };
    await writeCredentials(home, credentials);
    return credentials;
  }
  const parsed = Credentials.safeParse(JSON.parse(text));
  if (!parsed.success)
    throw new Error(`${file} is damaged: restore it from a backup`, { cause: parsed.error });
  return parsed.data;
}

/** Replaces the credentials in a directory, atomically. */
export async function writeCredentials(home: string, credentials: Credentials): Promise<void> {
  const file = credentialsFile(home);
  await writeFile(`${file}.new`, JSON.stringify(credentials), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Connection string of the owner, with the password, for the database of this program or another one. */
export function ownerUrl({ port, ownerPassword }: Credentials, database: string = DATABASE): string {
  return `postgresql://postgres:${ownerPassword}@127.0.0.1:${port}/${database}`;
}

/** Writes the reading role's password to a file for libpq. Returns the connection string that names the file. */
export async function writeReaderUrl(home: string, { port, readerPassword }: Credentials): Promise<string> {
  const passFile = path.join(home, 'pgpass');
  await writeFile(passFile, `127.0.0.1:${port}:${DATABASE}:${READER}:${readerPassword}\n`, { mode: 0o600 });
  return `postgresql://${READER}@127.0.0.1:${port}/${DATABASE}?passfile=${encodeURI(passFile)}`;
}

const credentialsFile = (home: string) => path.join(home, 'credentials.json');
