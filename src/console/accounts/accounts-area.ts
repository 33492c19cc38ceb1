import { z } from 'zod';
import { hashPassword, newPassword } from '../../access/passwords.ts';
import { newTotpSecret } from '../../access/totp.ts';
import { addAccount, changeAccount, disableAccount, isAccountName } from '../../store/access/accounts.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { ACCOUNT_ROLES } from '../../store/access/permissions.ts';
import type { Db } from '../../store/server/database.ts';
import { commaSeparated } from '../../config/setting-types.ts';
import { CHANGE_ACCESS } from '../access/access.ts';
import { whole, wholeSchema } from '../api/paging.ts';
import { queryOf, text, textOf } from '../api/parameters.ts';
import { jsonRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { accountsPage } from './accounts-page.ts';
import { accountSchema, describeAccounts } from './describe-accounts.ts';

/** People's access: their roles and sources, how they log in, and when they last did. */
export function accountsArea({ db }: { readonly db: Db }): Area {
  return {
    tag: 'access',
    routes: [
      jsonRoute({
        route: 'GET /accounts',
        summary: 'list the accounts, with their last logins',
        ...CHANGE_ACCESS,
        answer: wholeSchema(accountSchema),
        work: async () => whole(await describeAccounts(db)),
      }),
      jsonRoute({
        route: 'POST /accounts',
        summary: 'add an account with a generated password, which the answer shows once',
        ...CHANGE_ACCESS,
        input: { body: z.strictObject({ name, role, source: sources, totp: z.literal('on').optional() }) },
        answer: z.object({ name, secret: z.string(), totp_uri: z.string().optional() }),
        async work({ body: { name: subject, role: asked, source, totp } }, { operator }) {
          const password = newPassword();
          const key = totp && newTotpSecret(subject);
          const details = { role: asked, sources: source ?? 'all', password: true, totp: key !== undefined };
          const account = { name: subject, role: asked, sources: source, totpSecret: key?.secret };
          await recordAction(db, { operator, action: 'access.add', subject, details }, async () =>
            addAccount(db, { ...account, passwordHash: await hashPassword(password) }),
          );
          return { name: subject, secret: password, totp_uri: key?.uri };
        },
      }),
      jsonRoute({
        route: 'POST /accounts/{name}/change',
        summary: 'change the role and the sources of an account, whose sessions end',
        ...CHANGE_ACCESS,
        input: { path: onePath, body: z.strictObject({ role, source: sources }) },
        answer: onePath,
        async work({ path: { name: subject }, body: { role: asked, source } }, { operator }) {
          const details = { role: asked, sources: source ?? 'all' };
          await recordAction(db, { operator, action: 'access.change', subject, details }, () =>
            changeAccount(db, subject, { role: asked, sources: source ?? null }),
          );
          return { name: subject };
        },
      }),
      changeRoute(db, 'disable', 'disable an account: ends its sessions and revokes its API tokens', {
        action: 'access.remove',
        change: (name) => disableAccount(db, name),
      }),
      changeRoute(db, 'enable', 'enable an account again; its earlier API tokens stay revoked', {
        action: 'access.change',
        change: (name) => changeAccount(db, name, { isEnabled: true }),
      }),
    ],
    pages: [
      {
        path: '/access',
        entry: { label: 'Access', group: 'Administer', icon: 'access' },
        ...CHANGE_ACCESS,
        render: async (request) =>
          accountsPage(await describeAccounts(db), textOf(queryOf(request), 'change')),
      },
    ],
  };
}

interface AccountChange {
  readonly action: 'access.remove' | 'access.change';
  readonly change: (name: string) => Promise<void>;
}

const changeRoute = (db: Db, verb: string, summary: string, { action, change }: AccountChange) =>
  jsonRoute({
    route: `POST /accounts/{name}/${verb}`,
    summary,
    ...CHANGE_ACCESS,
    input: { path: onePath },
    answer: onePath,
    async work({ path: { name: subject } }, { operator }) {
      await recordAction(db, { operator, action, subject, details: { verb } }, () => change(subject));
      return { name: subject };
    },
  });

const name = text.refine(isAccountName, 'must have 1 to 100 letters, digits and signs without spaces');

const onePath = z.object({ name });

const role = z.enum(ACCOUNT_ROLES, `must be ${ACCOUNT_ROLES.join(', ')}`);

const sources = z
  .preprocess(
    (value) => (typeof value === 'string' ? commaSeparated.parse(value) : value),
    z.array(text).min(1),
  )
  .optional()
  .describe('sources (a list, or separated by commas) whose events the account may see; default: all');
