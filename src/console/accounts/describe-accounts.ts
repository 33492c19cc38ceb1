import { z } from 'zod';
import { listAccessTokens } from '../../store/access/access-tokens.ts';
import { listAccounts, logInOf } from '../../store/access/accounts.ts';
import { lastLogins } from '../../store/access/operator-log.ts';
import { ACCOUNT_ROLES } from '../../store/access/permissions.ts';
import type { Db } from '../../store/server/database.ts';
import { isoTime } from '../api/parameters.ts';

const tokenSchema = z.object({
  id: z.string(),
  label: z.string(),
  created_at: isoTime,
  expires_at: isoTime,
  last_used_at: isoTime.nullable().describe('to the minute'),
});

export const accountSchema = z
  .object({
    name: z.string(),
    role: z.enum(ACCOUNT_ROLES),
    sources: z.array(z.string()).nullable().describe('null: all'),
    login: z.string().describe('how the person logs in; invited: has not set a password yet'),
    has_totp: z.boolean().describe('one-time codes are required'),
    invited_until: isoTime.nullable().describe('when an open invitation expires'),
    last_login_at: isoTime.nullable(),
    tokens: z.array(tokenSchema).describe('API tokens that are not revoked'),
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
    ...account,
    login: logInOf(account),
    has_totp: Boolean(account.has_totp),
    last_login_at: logins.get(account.name) ?? null,
    tokens: tokens.filter((token) => token.account === account.name),
  }));
}
