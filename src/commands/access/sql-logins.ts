import { ConflictError, NotFoundError, UsageError } from '../../lib/errors.ts';
import type { CommandStore } from '../../serve/open-store.ts';
import { isAccountName } from '../../store/access/accounts.ts';
import type { Db } from '../../store/server/database.ts';
import {
  canKeepReaders,
  dropReader,
  keepReader,
  listReaders,
  personalLogin,
} from '../../store/server/roles/readers.ts';
import { print } from '../shared/output.ts';
import { recordCommand } from '../shared/record.ts';
import { passwordFrom, printSecrets } from './accounts.ts';

/**
 * `access add --sql`: makes a login of the database for one person, which may only read, and prints its address. Its
 * permissions are those of `xiq_reader`: every source.
 */
export async function addSqlLogin(
  { db, databaseUrl }: Pick<CommandStore, 'db' | 'databaseUrl'>,
  person: string,
  input: 'stdin' | 'ask',
) {
  const login = loginOf(person);
  await checkAdministered(db);
  const password = await passwordFrom(input);
  await recordCommand(db, { action: 'access.add', subject: person, details: { sql: login } }, async () => {
    if (await exists(db, person)) throw new ConflictError('LOGIN_EXISTS', `${login} exists already`);
    await keepReader(db, login, password?.text);
  });
  const url = new URL(databaseUrl);
  print(`added ${login}: postgresql://${encodeURIComponent(login)}@${url.host}${url.pathname}`);
  printSecrets(password, undefined);
}

/** `access remove --sql`: ends the sessions of a person's login and removes it. */
export async function removeSqlLogin(db: Db, person: string): Promise<void> {
  const login = loginOf(person);
  await checkAdministered(db);
  await recordCommand(db, { action: 'access.remove', subject: person, details: { sql: login } }, async () => {
    if (!(await exists(db, person))) throw new NotFoundError('NO_SUCH_LOGIN', `there is no login ${login}`);
    await dropReader(db, login);
  });
  print(`removed ${login}; its sessions have ended`);
}

const exists = async (db: Db, person: string) =>
  (await listReaders(db)).some((reader) => reader.person === person);

function loginOf(person: string): string {
  const login = personalLogin(person);
  if (login !== undefined && isAccountName(person)) return login;
  throw new UsageError(`"${person}" cannot be a login name: use up to 52 letters, digits and signs`);
}

async function checkAdministered(db: Db): Promise<void> {
  if (await canKeepReaders(db)) return;
  throw new UsageError(
    'This database has no roles of xiq-sink, so no login can be created. Create the roles first: see "Database roles" in docs/operating.md.',
  );
}
