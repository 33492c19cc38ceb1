import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import getPort from 'get-port';
import { z } from 'zod';
import { replaceFile, unlessMissing } from '../lib/files/durable-file.ts';

/**
 * The port of the embedded database, kept from start to start, and the passwords of its roles. The superuser `postgres`
 * creates the other roles and migrates; nothing else uses it.
 */
const Credentials = z.object({
  port: z.number(),
  bootstrapPassword: z.string(),
  servicePassword: z.string(),
  readerPassword: z.string(),
});

export type Credentials = z.infer<typeof Credentials>;

export const DATABASE = 'xiq_sink';

export const SERVICE = 'xiq_sink';
const READER = 'xiq_reader';

/** Reads the credentials in a directory, or generates them if there are none. Throws if they are unreadable. */
export async function keepCredentials(home: string): Promise<Credentials> {
  const file = credentialsFile(home);
  const text = await unlessMissing(readFile(file, 'utf8'), undefined);
  if (text === undefined) {
    const credentials = {
      port: await getPort({ host: '127.0.0.1' }),
      bootstrapPassword: newPassword(),
      servicePassword: newPassword(),
      readerPassword: newPassword(),
    };
    await writeCredentials(home, credentials);
    return credentials;
  }
  const { data } = Credentials.safeParse(JSON.parse(text));
  if (data === undefined) throw new Error(`${file} is damaged: restore it from a backup`);
  return data;
}

const newPassword = () => randomBytes(24).toString('hex');

/** Replaces the credentials in a directory, atomically. */
export async function writeCredentials(home: string, credentials: Credentials): Promise<void> {
  await replaceFile(credentialsFile(home), JSON.stringify(credentials));
}

/** Connection string of the superuser, with the password, for the database of this program or another one. */
export function bootstrapUrl({ port, bootstrapPassword }: Credentials, database: string = DATABASE): string {
  return `postgresql://postgres:${bootstrapPassword}@127.0.0.1:${port}/${database}`;
}

/** Connection string of the service, with the password, for the database of this program or another one. */
export function serviceUrl({ port, servicePassword }: Credentials, database: string = DATABASE): string {
  return `postgresql://${SERVICE}:${servicePassword}@127.0.0.1:${port}/${database}`;
}

export function readerUrl({ port, readerPassword }: Credentials): string {
  return `postgresql://${READER}:${readerPassword}@127.0.0.1:${port}/${DATABASE}`;
}

/** Writes the reading role's password to a file for libpq. Returns an argument for psql that names the file. */
export async function writePsqlArgument(
  home: string,
  { port, readerPassword }: Credentials,
): Promise<string> {
  const passFile = path.join(home, 'pgpass');
  await writeFile(passFile, `127.0.0.1:${port}:${DATABASE}:${READER}:${readerPassword}\n`, { mode: 0o600 });
  return `postgresql://${READER}@127.0.0.1:${port}/${DATABASE}?passfile=${encodeURI(passFile)}`;
}

export const CREDENTIALS_FILE = 'credentials.json';

const credentialsFile = (home: string) => path.join(home, CREDENTIALS_FILE);
