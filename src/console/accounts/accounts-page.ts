import { ACCOUNT_ROLES } from '../../store/access/permissions.ts';
import { countOf } from '../../lib/text/units.ts';
import { addressOf } from '../addresses.ts';
import { enteredOf, NOTHING_ENTERED, type Entered } from '../api/parameters.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';
import { agoOf, badge, sheetOf } from '../html/elements.ts';
import { actionButton, fieldOf, selectOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import type { DescribedAccount } from './describe-accounts.ts';

/** The role that most people get is the default. */
const ROLES = ['auditor', ...ACCOUNT_ROLES.filter((role) => role !== 'auditor')].map(
  (role) => [role, role] as const,
);

/** The accounts, and the form that adds one, or changes the one with this name. */
export const accountsPage = (accounts: readonly DescribedAccount[], changed?: string): Page => ({
  title: 'Access',
  modules: ['pages/sources.ts'],
  content: html`
    ${formOf(accounts.find(({ name }) => name === changed))}
    <div class="shown" role="status"></div>
    ${tableOf('Accounts, by name', COLUMNS, accounts, 'No accounts yet.', 'sources')}
  `,
});

const formOf = (changed: DescribedAccount | undefined): Content =>
  changed === undefined
    ? html`
        <form class="filters" data-action="/accounts" data-secret=${INVITATION} aria-label="Add a person">
          ${fieldOf(NOTHING_ENTERED, 'name', 'Name', 'ada@example.com')} ${fieldsOf(NOTHING_ENTERED)}
          <label><input type="checkbox" name="totp" /> With a one-time code</label>
          <button>Invite</button>
        </form>
        <p class="dim">
          The person sets a password with a link, which is shown once and valid for 24 hours. Once the first
          account exists, everyone has to log in. To create API tokens and SQL logins, use${' '}
          <code>xiq-sink access</code>.
        </p>
      `
    : html`
        <h2>${changed.name}</h2>
        <form
          class="filters"
          data-action=${`${accountPath(changed.name)}/change`}
          data-then="/access"
          data-done=${`${changed.name} was changed and has to log in again.`}
          aria-label=${`Change ${changed.name}`}
        >
          ${fieldsOf(enteredOf({ role: changed.role, source: changed.sources?.join(', ') }))}
          <button>Save</button>
          <a class="button quiet" href="/access">Cancel</a>
        </form>
      `;

const fieldsOf = (entered: Entered): Content => [
  selectOf(entered, 'role', 'Role', ROLES),
  fieldOf(entered, 'source', 'Sources', 'all'),
];

/** What the page shows once. */
const INVITATION = 'link';

const accountPath = (name: string) => `/accounts/${encodeURIComponent(name)}`;

const COLUMNS: readonly Column<DescribedAccount>[] = [
  {
    heading: 'Name',
    isPlain: true,
    cell: ({ name, disabled_at: disabled }) =>
      html`<a href=${addressOf('/operator-log', { operator: name })}>${name}</a>
        ${disabled && badge('plain', 'disabled')}`,
  },
  { heading: 'Role', cell: ({ role }) => role },
  { heading: 'Sources', cell: ({ sources }) => sources?.join(', ') ?? 'all' },
  { heading: 'Logs in with', cell: loginCell },
  { heading: 'Last login', cell: ({ last_login_at: at }) => agoOf(at) },
  { heading: 'API tokens', cell: tokensCell },
  { heading: 'Actions', cell: actionsOn },
];

function loginCell({ login, invited_until: until }: DescribedAccount): Content {
  if (until === null) return login;
  return until.getTime() > Date.now()
    ? html`${badge('plain', login)} <span class="dim">ends ${agoOf(until)}</span>`
    : badge('warn', 'invitation has expired');
}

/** The number of tokens, which opens the list of them. */
function tokensCell({ name, tokens }: DescribedAccount): Content {
  if (tokens.length === 0) return html`<span class="dim">0</span>`;
  const list = tableOf(`API tokens of ${name}`, TOKEN_COLUMNS, tokens);
  return sheetOf(`tokens-${name}`, countOf(tokens.length, 'token'), name, list);
}

const TOKEN_COLUMNS: readonly Column<DescribedAccount['tokens'][number]>[] = [
  { heading: 'Label', isPlain: true, cell: ({ label, id }) => (label === '' ? `token ${id}` : label) },
  { heading: 'Last used', cell: ({ last_used_at: at }) => agoOf(at) },
  { heading: 'Expires', cell: ({ expires_at: at }) => agoOf(at) },
  {
    heading: 'Action',
    cell: ({ id, label }) =>
      actionButton(`/access-tokens/${id}/revoke`, 'Revoke', {
        name: `Revoke the token ${label === '' ? id : label}`,
        kind: 'danger',
        done: 'The token was revoked.',
      }),
  },
];

function actionsOn({ name, login, has_totp: hasTotp, disabled_at: disabled }: DescribedAccount): Content {
  const path = accountPath(name);
  if (disabled !== null) {
    return actionButton(`${path}/enable`, 'Enable', {
      name: `Enable ${name}`,
      kind: 'quiet',
      done: `${name} is enabled. Its earlier API tokens stay revoked.`,
    });
  }
  return html`
    <div class="row tight">
      <a class="button quiet" href=${addressOf('/access', { change: name })} aria-label=${`Change ${name}`}
        >Change</a
      >
      ${
        login !== 'OpenID Connect' &&
        actionButton(`${path}/invite`, 'Invite', {
          name: `Invite ${name} again`,
          kind: 'quiet',
          secret: INVITATION,
          confirm: `Create a new invitation for ${name}? The current password and authenticator key stop working now.`,
          values: hasTotp ? { totp: 'on' } : {},
        })
      }
      ${actionButton(`${path}/disable`, 'Disable', {
        name: `Disable ${name}`,
        kind: 'danger',
        confirm: `Disable ${name}? Its sessions end, and its API tokens are revoked.`,
        done: `${name} is disabled.`,
      })}
    </div>
  `;
}
