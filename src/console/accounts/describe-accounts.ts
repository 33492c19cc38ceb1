import { z } from 'zod';
import { listAccessTokens } from '../../store/access/access-tokens.ts';
import { listAccounts } from '../../store/access/accounts.ts';
import { lastLogins } from '../../store/access/operator-log.ts';
import { ACCOUNT_ROLES } from '../../store/access/permissions.ts';
import type { Db } from '../../store/server/database.ts';
import { isoTime } from '../api/parameters.ts';

export const accountSchema = z
  .object({
    name: z.string(),
    role: z.enum(ACCOUNT_ROLES),
    sources: z.array(z.string()).nullable().describe('null: all'),
    login: z.enum(['password', 'password and code', 'OpenID Connect', 'API tokens only']),
    last_login_at: isoTime.nullable(),
    api_tokens: z.int(),
    disabled_at: isoTime.nullable(),
  })
  .meta({ id: 'Account' });

export type DescribedAccount = z.input<typeof accountSchema>;

/** The accounts by name, without secrets. */
export async function describeAccounts(db: Db): Promise<DescribedAccount[]> {
  const [accounts, tokens, logins] = await Promise.all([
    listAccounts(db),
    listAccessTokens(db),
    lastLogins(db),
  ]);
  return accounts.map((account) => ({
    name: account.name,
    role: account.role,
    sources: account.sources,
    login: account.is_openid
      ? 'OpenID Connect'
      : !account.has_password
        ? 'API tokens only'
        : account.has_totp
          ? 'password and code'
          : 'password',
    last_login_at: logins.get(account.name) ?? null,
    api_tokens: tokens.filter((token) => token.account === account.name).length,
    disabled_at: account.disabled_at,
  }));
}
