import { z } from 'zod';
import { newTotpSecret } from '../../access/totp.ts';
import { ConflictError } from '../../lib/errors.ts';
import { revokeAccessToken } from '../../store/access/access-tokens.ts';
import {
  addAccount,
  changeAccount,
  disableAccount,
  findAccount,
  isAccountName,
} from '../../store/access/accounts.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { ACCOUNT_ROLES } from '../../store/access/permissions.ts';
import type { Db } from '../../store/server/database.ts';
import { commaSeparated } from '../../config/setting-types.ts';
import { CHANGE_ACCESS } from '../access/access.ts';
import { newInvitation } from '../access/invitations.ts';
import { whole, wholeSchema } from '../api/paging.ts';
import { isoTime, queryOf, text, textOf } from '../api/parameters.ts';
import { changeRoute, jsonRoute, nameAnswer, namePath } from '../api/route.ts';
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
        summary: 'list the accounts, with their last logins and API tokens',
        ...CHANGE_ACCESS,
        answer: wholeSchema(accountSchema),
        work: async () => whole(await describeAccounts(db)),
      }),
      jsonRoute({
        route: 'POST /accounts',
        summary: 'add an account, and create a link for the person to set a password',
        ...CHANGE_ACCESS,
        input: { body: z.strictObject({ name, role, source: sources, totp }) },
        answer: invited,
        async work({ body: { name: subject, role: asked, source, totp: hasTotp } }, { operator }) {
          const { invitation, address } = newInvitation();
          const details = {
            role: asked,
            sources: source ?? 'all',
            invited: true,
            totp: hasTotp !== undefined,
          };
          const totpSecret = hasTotp && newTotpSecret(subject).secret;
          await recordAction(db, { operator, action: 'access.add', subject, details }, () =>
            addAccount(db, {
              name: subject,
              role: asked,
              sources: source,
              totp_secret: totpSecret ?? null,
              ...invitation,
            }),
          );
          return { name: subject, address, invited_until: invitation.invited_until };
        },
      }),
      jsonRoute({
        route: 'POST /accounts/{name}/invite',
        summary: 'create a new link for the person to set a password; the previous link stops working',
        ...CHANGE_ACCESS,
        input: { path: namePath, body: z.strictObject({ totp }) },
        answer: invited,
        async work({ path: { name: subject }, body }, { operator }) {
          if (((await findAccount(db, subject))?.identity ?? null) !== null) {
            const message = `${subject} logs in by OpenID Connect: an invitation would add a password`;
            throw new ConflictError('OPENID_ACCOUNT', message);
          }
          const { invitation, address } = newInvitation();
          const details = { invited: true, totp: body.totp !== undefined };
          const totpSecret = body.totp === undefined ? null : newTotpSecret(subject).secret;
          await recordAction(db, { operator, action: 'access.change', subject, details }, () =>
            changeAccount(db, subject, { passwordHash: null, totpSecret, invitation }),
          );
          return { name: subject, address, invited_until: invitation.invited_until };
        },
      }),
      jsonRoute({
        route: 'POST /accounts/{name}/change',
        summary: "change an account's role and sources, and end its sessions",
        ...CHANGE_ACCESS,
        input: { path: namePath, body: z.strictObject({ role, source: sources }) },
        answer: nameAnswer,
        async work({ path: { name: subject }, body: { role: asked, source } }, { operator }) {
          const details = { role: asked, sources: source ?? 'all' };
          await recordAction(db, { operator, action: 'access.change', subject, details }, () =>
            changeAccount(db, subject, { role: asked, sources: source ?? null }),
          );
          return { name: subject };
        },
      }),
      changeRoute(
        'POST /accounts/{name}/disable',
        'disable an account: ends its sessions and revokes its API tokens',
        CHANGE_ACCESS,
        (subject, { operator }) =>
          recordAction(db, { operator, action: 'access.remove', subject }, () => disableAccount(db, subject)),
      ),
      changeRoute(
        'POST /accounts/{name}/enable',
        'enable an account again; its earlier API tokens stay revoked',
        CHANGE_ACCESS,
        (subject, { operator }) =>
          recordAction(db, { operator, action: 'access.change', subject, details: { enabled: true } }, () =>
            changeAccount(db, subject, { isEnabled: true }),
          ),
      ),
      jsonRoute({
        route: 'POST /access-tokens/{token_id}/revoke',
        summary: 'revoke an API token',
        ...CHANGE_ACCESS,
        input: { path: z.object({ token_id: z.string().regex(/^\d{1,18}$/, 'must be the id of a token') }) },
        answer: z.object({ account: z.string(), label: z.string() }),
        work: ({ path: { token_id: subject } }, { operator }) =>
          recordAction(
            db,
            { operator, action: 'access.revoke', subject },
            () => revokeAccessToken(db, subject),
            (revoked) => revoked,
          ),
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

const name = text.refine(isAccountName, 'must have 1 to 100 letters, digits and signs without spaces');

const role = z.enum(ACCOUNT_ROLES, `must be ${ACCOUNT_ROLES.join(', ')}`);

const totp = z.literal('on').optional().describe('require one-time codes from an authenticator app');

const invited = nameAnswer.extend({
  address: z.string().describe("the link, relative to the console's address; it is not shown again"),
  invited_until: isoTime.describe('when the link expires'),
});

const sources = z
  .preprocess(
    (value) => (typeof value === 'string' ? commaSeparated.parse(value) : value),
    z.array(text).min(1),
  )
  .optional()
  .describe('sources (a list, or separated by commas) whose events the account may see; default: all');
