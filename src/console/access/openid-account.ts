import { hash } from 'node:crypto';
import { ConflictError, HttpError } from '../../errors.ts';
import { addAccount, changeAccount, findAccount, findIdentity, isAccountName } from '../../store/accounts.ts';
import type { Account } from '../../store/accounts.ts';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import type { Person } from './openid-person.ts';

/** Log-ins at the same moment may want the same name, or change the same account: the next attempt finds what they did. */
const ATTEMPTS = 3;

/**
 * The account of a person, found by issuer and subject alone. The first log-in adds it, and gives it a name that it keeps.
 * If the provider gives the person another role or other sources than at the last log-in, the account is changed, which
 * ends its other sessions. Both are recorded in the operator log. Throws HttpError 403 if the account is disabled.
 */
export async function accountOf(db: Db, person: Person): Promise<Account> {
  const { identity, role, sources = null } = person;
  const operator = { name: 'xiq-sink', via: 'system' } as const;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const account = await findIdentity(db, identity);
    if (account !== undefined) {
      if (account.disabled_at !== null) throw disabled(account);
      if (account.role === role && isSame(account.sources, sources)) return account;
      const { name: subject } = account;
      const details = { role, sources: sources ?? 'all', from: 'OpenID Connect' };
      await recordAction(db, { operator, action: 'access.change', subject, details }, () =>
        changeAccount(db, subject, { role, sources }),
      );
      continue;
    }
    const name = await freeName(db, person);
    const details = { role, sources: sources ?? 'all', from: 'OpenID Connect', identity };
    try {
      await recordAction(db, { operator, action: 'access.add', subject: name, details }, () =>
        addAccount(db, { name, role, sources: sources ?? undefined, identity }),
      );
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
  throw new HttpError(503, 'ACCOUNT_BUSY', 'Your account is being changed. Try again.');
}

const isSame = (some: readonly string[] | null, others: readonly string[] | null) =>
  JSON.stringify(some?.toSorted()) === JSON.stringify(others?.toSorted());

/**
 * The name that the provider knows, or, if another account has it, the name with a digest of issuer and subject: a person
 * never gets the account of somebody else with that name.
 */
async function freeName(db: Db, { name, identity }: Person): Promise<string> {
  const mark = hash('sha256', identity).slice(0, 8);
  const clean = name.normalize('NFKC').replaceAll(/[\p{C}\p{Z}]+/gu, '.');
  if (!isAccountName(clean)) return `openid~${mark}`;
  return (await findAccount(db, clean)) === undefined ? clean : `${clean.slice(0, 90)}~${mark}`;
}

const disabled = ({ name }: Account) =>
  new HttpError(
    403,
    'ACCOUNT_DISABLED',
    `Your account "${name}" is disabled. An administrator can enable it.`,
  );
