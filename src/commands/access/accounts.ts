import { hashPassword, newPassword } from '../../console/access/passwords.ts';
import { newTotpSecret } from '../../console/access/totp.ts';
import { UsageError } from '../../errors.ts';
import type { AccountRole } from '../../permissions.ts';
import { addAccount, changeAccount, disableAccount, isAccountName } from '../../store/accounts.ts';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { note, print } from '../shared/output.ts';
import { asUsage, commandOperator } from '../shared/process.ts';
import { readPassword } from './read-password.ts';

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
  await asUsage(() =>
    recordAction(
      db,
      {
        operator: commandOperator(),
        action: 'access.add',
        subject: name,
        details: { role, sources: sources ?? 'all', password: password !== undefined, totp },
      },
      () => addAccount(db, { name, role, sources, passwordHash, totpSecret: key?.secret }),
    ),
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
  await asUsage(() =>
    recordAction(
      db,
      {
        operator: commandOperator(),
        action: 'access.change',
        subject: name,
        details: {
          role,
          sources: sources === null ? 'all' : sources,
          password: password && 'new',
          totp,
          enabled: isEnabled,
        },
      },
      () => changeAccount(db, name, { role, sources, passwordHash, totpSecret, isEnabled }),
    ),
  );
  print(`changed ${name}; its sessions have ended`);
  printSecrets(password, key);
}

/** `access remove`: disables an account. */
export async function removePerson(db: Db, name: string): Promise<void> {
  await asUsage(() =>
    recordAction(db, { operator: commandOperator(), action: 'access.remove', subject: name }, () =>
      disableAccount(db, name),
    ),
  );
  print(`disabled ${name}; its sessions have ended and its API tokens are revoked`);
}

interface Password {
  readonly text: string;
  readonly isGenerated: boolean;
}

async function passwordFrom(input: PasswordInput): Promise<Password | undefined> {
  if (input === 'none') return undefined;
  const text = await readPassword(input);
  return text === undefined ? { text: newPassword(), isGenerated: true } : { text, isGenerated: false };
}

/** Prints what nobody can look up later. */
function printSecrets(password: Password | undefined, key: { readonly uri: string } | undefined): void {
  if (password?.isGenerated === true) print(`password: ${password.text}`);
  if (key !== undefined) print(`key for the authenticator app: ${key.uri}`);
  if (password?.isGenerated === true || key !== undefined) note('(shown only now)');
}
