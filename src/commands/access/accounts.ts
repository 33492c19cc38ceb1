import { hashPassword, hasPasswordLength, newPassword, PASSWORD_LENGTH } from '../../access/passwords.ts';
import { newTotpSecret } from '../../access/totp.ts';
import { UsageError } from '../../lib/errors.ts';
import { commandName } from '../../lib/text/command-name.ts';
import { revealOnLine } from '../../lib/text/hidden-characters.ts';
import type { AccountRole } from '../../store/access/permissions.ts';
import {
  addAccount,
  changeAccount,
  disableAccount,
  isAccountName,
  listAccounts,
  logInOf,
} from '../../store/access/accounts.ts';
import type { Db } from '../../store/server/database.ts';
import { note, print, printJsonLine, printRows, type Columns } from '../shared/output.ts';
import { recordCommand } from '../shared/record.ts';
import { digestOf, newApiToken } from '../../access/credentials.ts';
import { addAccessToken, revokeAccessToken, listAccessTokens } from '../../store/access/access-tokens.ts';
import { listReaders } from '../../store/server/roles/readers.ts';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';

/** Where a password comes from: standard input, the person at the terminal (or a generated one), or there is none. */
type PasswordInput = 'stdin' | 'ask' | 'none';

interface NewPerson {
  readonly role: AccountRole;
  /** Undefined: all. */
  readonly sources: readonly string[] | undefined;
  readonly password: PasswordInput;
  readonly totp: boolean;
}

/** `access add`: adds an account and prints what its owner needs to log in. */
export async function addPerson(db: Db, name: string, asked: NewPerson): Promise<void> {
  if (!isAccountName(name)) {
    throw new UsageError(
      `"${name}" cannot be an account name: use 1 to 100 letters, digits and signs without spaces (such as ada or ada@example.com)`,
    );
  }
  const { role, sources, totp } = asked;
  const password = await passwordFrom(asked.password);
  const key = totp ? newTotpSecret(name) : undefined;
  const passwordHash = password && (await hashPassword(password.text));
  const details = { role, sources: sources ?? 'all', password: password !== undefined, totp };
  await recordCommand(db, { action: 'access.add', subject: name, details }, () =>
    addAccount(db, {
      name,
      role,
      sources,
      password_hash: passwordHash ?? null,
      totp_secret: key?.secret ?? null,
    }),
  );
  print(`added ${name} with the role ${role}`);
  printSecrets(password, key);
}

interface ChangedPerson {
  readonly role: AccountRole | undefined;
  /** Null: all. Undefined: as before. */
  readonly sources: readonly string[] | null | undefined;
  readonly password: PasswordInput | undefined;
  /** Undefined: as before. */
  readonly totp: boolean | undefined;
  readonly isEnabled: boolean | undefined;
}

/** `access change`: changes an account and ends its sessions. */
export async function changePerson(db: Db, name: string, asked: ChangedPerson): Promise<void> {
  if (Object.values(asked).every((value) => value === undefined)) {
    throw new UsageError('nothing to change: give at least one option (see --help)');
  }
  const { role, sources, totp, isEnabled } = asked;
  const password = asked.password && (await passwordFrom(asked.password));
  const key = totp === true ? newTotpSecret(name) : undefined;
  const passwordHash = password && (await hashPassword(password.text));
  const totpSecret = totp === false ? null : key?.secret;
  const details = {
    role,
    sources: sources === null ? 'all' : sources,
    password: password && 'new',
    totp,
    enabled: isEnabled,
  };
  await recordCommand(db, { action: 'access.change', subject: name, details }, () =>
    changeAccount(db, name, { role, sources, passwordHash, totpSecret, isEnabled }),
  );
  print(`changed ${name}; its sessions have ended`);
  printSecrets(password, key);
}

/** `access remove`: disables an account. */
export async function removePerson(db: Db, name: string): Promise<void> {
  await recordCommand(db, { action: 'access.remove', subject: name }, () => disableAccount(db, name));
  print(`disabled ${name}; its sessions have ended and its API tokens are revoked`);
}

/** Reads or makes a new password. Undefined: there is none. */
export async function passwordFrom(
  input: PasswordInput,
): Promise<{ text: string; isGenerated: boolean } | undefined> {
  if (input === 'none') return undefined;
  const text = await readPassword(input);
  return text === undefined ? { text: newPassword(), isGenerated: true } : { text, isGenerated: false };
}

/** Prints what was made for a person, once. */
export function printSecrets(
  password: Awaited<ReturnType<typeof passwordFrom>>,
  key: { readonly uri: string } | undefined,
): void {
  if (password?.isGenerated === true) print(`password: ${password.text}`);
  if (key !== undefined) print(`key for the authenticator app: ${key.uri}`);
  if (password?.isGenerated === true || key !== undefined) note('(shown only once)');
}

interface AskedToken {
  readonly name: string | undefined;
  /** Hours. */
  readonly expires: number | undefined;
  readonly label: string | undefined;
}

/** `access token`: creates an API token and prints it, once. */
export async function createToken(db: Db, { name, expires, label = '' }: AskedToken): Promise<void> {
  if (name === undefined) throw new UsageError('give the account name, or use --revoke (see --help)');
  if (expires === undefined) throw new UsageError('--expires is required, such as --expires 90d');
  const token = newApiToken();
  const expiresAt = new Date(Date.now() + expires * 3_600_000);
  const details = { label, expires_at: expiresAt.toISOString() };
  const id = await recordCommand(
    db,
    { action: 'access.token', subject: name, details },
    () => addAccessToken(db, { account: name, digest: digestOf(token), label, expires_at: expiresAt }),
    (added) => ({ id: added }),
  );
  print(token);
  note(`(token ${id} of ${name}, valid until ${expiresAt.toISOString()}; shown only once)`);
}

/** `access token --revoke`: revokes an API token. */
export async function revokeToken(db: Db, id: string): Promise<void> {
  const { account, label } = await recordCommand(
    db,
    { action: 'access.revoke', subject: id },
    () => revokeAccessToken(db, id),
    (revoked) => revoked,
  );
  print(`revoked token ${id}${label === '' ? '' : ` (${revealOnLine(label)})`} of ${account}`);
}

type Listed = Awaited<ReturnType<typeof listAccounts>>[number];

const ACCOUNT_COLUMNS: Columns<Listed> = {
  name: ({ name }) => name,
  role: ({ role }) => role,
  sources: ({ sources }) => sources?.join(', ') ?? 'all',
  login: logInOf,
  created: ({ created_at: at }) => at.toISOString(),
  disabled: ({ disabled_at: at }) => at?.toISOString() ?? null,
};

const TOKEN_COLUMNS: Columns<Awaited<ReturnType<typeof listAccessTokens>>[number]> = {
  token: ({ id }) => id,
  account: ({ account }) => account,
  label: ({ label }) => label,
  created: ({ created_at: at }) => at.toISOString(),
  expires: ({ expires_at: at }) => at.toISOString(),
  'last used': ({ last_used_at: at }) => at?.toISOString() ?? 'never',
};

const READER_COLUMNS: Columns<Awaited<ReturnType<typeof listReaders>>[number]> = {
  'SQL login of': ({ person }) => person,
  'sessions now': ({ sessions }) => String(sessions),
};

/**
 * `access list`: prints accounts, API tokens and logins for SQL as tables, or accounts with their tokens, then logins, as
 * JSON lines.
 */
export async function printAccess(db: Db, asJson: boolean): Promise<void> {
  const [accounts, tokens, readers] = await Promise.all([
    listAccounts(db),
    listAccessTokens(db),
    listReaders(db),
  ]);
  if (asJson) {
    for (const account of accounts) {
      const own = tokens.filter((token) => token.account === account.name);
      printJsonLine({ ...account, tokens: own.map(({ account: _account, ...token }) => token) });
    }
    for (const reader of readers) printJsonLine({ sql_login: reader.person, sessions: reader.sessions });
    return;
  }
  if (accounts.length === 0) note(`no accounts exist; add one with ${commandName()} access add`);
  await printRows(accounts, ACCOUNT_COLUMNS);
  if (tokens.length > 0) print('');
  await printRows(tokens, TOKEN_COLUMNS);
  if (readers.length > 0) print('');
  await printRows(readers, READER_COLUMNS);
}

/**
 * Reads a new password: from standard input, or twice from the person at the terminal. Undefined if the person entered
 * none, or there is no terminal: then one has to be generated. Throws a UsageError if it is too short.
 */
async function readPassword(from: 'stdin' | 'ask'): Promise<string | undefined> {
  if (from === 'stdin') return checkLength((await text(process.stdin)).replace(/\r?\n$/, ''));
  if (!process.stdin.isTTY) return undefined;
  const entered = await askHidden('New password (empty: generate one): ');
  if (entered === '') return undefined;
  checkLength(entered);
  if ((await askHidden('Repeat the password: ')) !== entered) {
    throw new UsageError('the two passwords differ');
  }
  return entered;
}

function checkLength(password: string): string {
  if (hasPasswordLength(password)) return password;
  throw new UsageError(`a password must have ${PASSWORD_LENGTH.least} to ${PASSWORD_LENGTH.most} characters`);
}

async function askHidden(question: string): Promise<string> {
  process.stderr.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await terminal.question('');
  } finally {
    terminal.close();
    process.stderr.write('\n');
  }
}
