import { createHmac, randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import getPort from 'get-port';
import { z } from 'zod';
import { isMissingFile } from '../durable-file.ts';

/** The credentials as they are in the file. Earlier versions called the superuser the owner, and used it for everything. */
const Stored = z
  .object({
    port: z.number(),
    bootstrapPassword: z.string().optional(),
    ownerPassword: z.string().optional(),
    servicePassword: z.string().optional(),
    readerPassword: z.string(),
  })
  .transform(({ port, ownerPassword, bootstrapPassword = ownerPassword, servicePassword, readerPassword }) =>
    bootstrapPassword === undefined
      ? undefined
      : {
          port,
          bootstrapPassword,
          servicePassword: servicePassword ?? derivePassword(bootstrapPassword),
          readerPassword,
        },
  );

/**
 * The port of the embedded database, kept from start to start, and the passwords of its roles. That of the superuser
 * `postgres`, which creates the other roles, is used for nothing else.
 */
export type Credentials = NonNullable<z.output<typeof Stored>>;

/** The service's password in an installation of an earlier version: the same for all programs that start at once. */
const derivePassword = (bootstrapPassword: string) =>
  createHmac('sha256', bootstrapPassword).update(SERVICE).digest('hex');

/** The name of the database in the embedded server. */
export const DATABASE = 'xiq_sink';

/** The role of the service. */
export const SERVICE = 'xiq_sink';
const READER = 'xiq_reader';

/** Reads the credentials in a directory, or generates them if there are none. Throws if they are unreadable. */
export async function keepCredentials(home: string): Promise<Credentials> {
  const file = credentialsFile(home);
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (!isMissingFile(error)) throw error;
    const [bootstrapPassword, servicePassword, readerPassword] = [
      newPassword(),
      newPassword(),
      newPassword(),
    ];
    const port = await getPort({ host: '127.0.0.1' });
    const credentials = { port, bootstrapPassword, servicePassword, readerPassword };
    await writeCredentials(home, credentials);
    return credentials;
  }
  const stored: unknown = JSON.parse(text);
  const credentials = Stored.safeParse(stored).data;
  if (credentials === undefined) throw new Error(`${file} is damaged: restore it from a backup`);
  if (!isDeepStrictEqual(stored, credentials)) await writeCredentials(home, credentials);
  return credentials;
}

const newPassword = () => randomBytes(24).toString('hex');

/** Replaces the credentials in a directory, atomically. */
export async function writeCredentials(home: string, credentials: Credentials): Promise<void> {
  const file = credentialsFile(home);
  await writeFile(`${file}.new`, JSON.stringify(credentials), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Connection string of the superuser, with the password, for the database of this program or another one. */
export function bootstrapUrl({ port, bootstrapPassword }: Credentials, database: string = DATABASE): string {
  return `postgresql://postgres:${bootstrapPassword}@127.0.0.1:${port}/${database}`;
}

/** Connection string of the service, with the password, for the database of this program or another one. */
export function serviceUrl({ port, servicePassword }: Credentials, database: string = DATABASE): string {
  return `postgresql://${SERVICE}:${servicePassword}@127.0.0.1:${port}/${database}`;
}

/** Connection string of the reading role, with the password. */
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

/** The name of the file with the credentials. */
export const CREDENTIALS_FILE = 'credentials.json';

const credentialsFile = (home: string) => path.join(home, CREDENTIALS_FILE);
