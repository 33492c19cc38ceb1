import { digestOf, newApiToken } from '../../console/access/credentials.ts';
import { UsageError } from '../../errors.ts';
import { addAccessToken, revokeAccessToken } from '../../store/access-tokens.ts';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { note, print } from '../shared/output.ts';
import { asUsage, commandOperator } from '../shared/process.ts';

interface AskedToken {
  readonly name: string | undefined;
  /** Hours. */
  readonly expires: number | undefined;
  readonly label: string | undefined;
}

/** `access token`: creates an API token and prints it, once. */
export async function createToken(db: Db, { name, expires, label = '' }: AskedToken): Promise<void> {
  if (name === undefined) throw new UsageError('name the account of the token, or use --revoke (see --help)');
  if (expires === undefined) throw new UsageError('--expires is required, such as --expires 90d');
  const token = newApiToken();
  const expiresAt = new Date(Date.now() + expires * 3_600_000);
  const id = await asUsage(() =>
    recordAction(
      db,
      {
        operator: commandOperator(),
        action: 'access.token',
        subject: name,
        details: { label, expires_at: expiresAt.toISOString() },
      },
      () => addAccessToken(db, { account: name, digest: digestOf(token), label, expiresAt }),
      (added) => ({ id: added }),
    ),
  );
  print(token);
  note(`(token ${id} of ${name}, valid until ${expiresAt.toISOString()}; shown only now)`);
}

/** `access token --revoke`: revokes an API token. */
export async function revokeToken(db: Db, id: string): Promise<void> {
  const { account, label } = await asUsage(() =>
    recordAction(
      db,
      { operator: commandOperator(), action: 'access.revoke', subject: id },
      () => revokeAccessToken(db, id),
      (revoked) => revoked,
    ),
  );
  print(`revoked token ${id}${label === '' ? '' : ` (${label})`} of ${account}`);
}
