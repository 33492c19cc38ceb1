import { listAccessTokens } from '../../store/access-tokens.ts';
import { listAccounts } from '../../store/accounts.ts';
import type { Db } from '../../store/database.ts';
import { note, print, printTable } from '../shared/output.ts';

const ACCOUNT_COLUMNS = ['name', 'role', 'sources', 'login', 'created', 'disabled'];
const TOKEN_COLUMNS = ['token', 'account', 'label', 'created', 'expires', 'last used'];

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
  await printTable(
    ACCOUNT_COLUMNS,
    accounts.map((account) => [
      account.name,
      account.role,
      account.sources?.join(', ') ?? 'all',
      logInOf(account),
      account.created_at.toISOString(),
      account.disabled_at?.toISOString() ?? null,
    ]),
  );
  if (tokens.length === 0) return;
  print('');
  await printTable(
    TOKEN_COLUMNS,
    tokens.map((token) => [
      token.id,
      token.account,
      token.label,
      token.created_at.toISOString(),
      token.expires_at.toISOString(),
      token.last_used_at?.toISOString() ?? 'never',
    ]),
  );
}

type Listed = Awaited<ReturnType<typeof listAccounts>>[number];

function logInOf({ has_password, has_totp, is_openid }: Listed): string {
  if (is_openid) return 'OpenID Connect';
  if (!has_password) return 'API tokens only';
  return has_totp ? 'password and code' : 'password';
}
