import { listAccessTokens } from '../../store/access-tokens.ts';
import { listAccounts } from '../../store/accounts.ts';
import type { Db } from '../../store/database.ts';
import { note, print, printRows, type Columns } from '../shared/output.ts';

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

/** `access list`: prints accounts and API tokens as tables, or accounts with their tokens as JSON lines. */
export async function printAccess(db: Db, asJson: boolean): Promise<void> {
  const [accounts, tokens] = await Promise.all([listAccounts(db), listAccessTokens(db)]);
  if (asJson) {
    for (const account of accounts) {
      const own = tokens.filter((token) => token.account === account.name);
      print(JSON.stringify({ ...account, tokens: own.map(({ account: _account, ...token }) => token) }));
    }
    return;
  }
  if (accounts.length === 0) {
    note('(no accounts; add one with access add)');
    return;
  }
  await printRows(accounts, ACCOUNT_COLUMNS);
  if (tokens.length > 0) print('');
  await printRows(tokens, TOKEN_COLUMNS);
}

function logInOf({ has_password, has_totp, is_openid }: Listed): string {
  if (is_openid) return 'OpenID Connect';
  if (!has_password) return 'API tokens only';
  return has_totp ? 'password and code' : 'password';
}
