import { DAY_MS } from '../../lib/clock.ts';
import {
  ACCOUNT_ROLES,
  ROLE_PERMISSIONS,
  type AccountRole,
  type Permission,
} from '../../store/access/permissions.ts';
import { addressOf } from '../addresses.ts';
import { enteredOf, NOTHING_ENTERED, type Entered } from '../api/parameters.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';
import { agoOf, badge, panelOf } from '../html/elements.ts';
import { actionButton, fieldOf, selectOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import type { DescribedAccount } from './describe-accounts.ts';

/** The role that most people get is the default. */
const ROLES = ['auditor', ...ACCOUNT_ROLES.filter((role) => role !== 'auditor')];

/** The form that adds an account, or changes the one with this name; accounts, API tokens, and what each role may do. */
export const accountsPage = (accounts: readonly DescribedAccount[], changed?: string): Page => ({
  title: 'Access',
  modules: ['pages/sources.ts'],
  content: html`
    ${formOf(accounts.find(({ name }) => name === changed))}
    <div class="shown" role="status"></div>
    ${tableOf('Accounts, by name', COLUMNS, accounts, 'No accounts yet. Once the first one exists, everyone has to log in.')}
    <h2>API tokens</h2>
    ${tableOf('API tokens', TOKEN_COLUMNS, accounts.flatMap(tokensOf), NO_TOKENS)}
    ${panelOf('Roles', tableOf('Roles', ROLE_COLUMNS, ACCOUNT_ROLES))}
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
        <p class="dim">The person sets a password with a link that is shown once and valid for 24 hours.</p>
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
    kind: 'nowrap',
    isPlain: true,
    cell: ({ name, disabled_at: disabled }) =>
      html`<a href=${addressOf('/operator-log', { operator: name })}>${name}</a>${' '}
        ${disabled && badge('plain', 'disabled')}`,
  },
  { heading: 'Role', cell: ({ role }) => role },
  { heading: 'Sources', cell: ({ sources }) => sources?.join(', ') ?? 'all' },
  { heading: 'Logs in with', kind: 'nowrap', cell: loginCell },
  { heading: 'Last login', kind: 'nowrap', cell: ({ last_login_at: at }) => agoOf(at) },
  { heading: 'Actions', cell: actionsOn },
];

function loginCell({ login, invited_until: until }: DescribedAccount): Content {
  if (until === null) return login;
  return until.getTime() > Date.now()
    ? html`${badge('plain', login)} <span class="dim">ends ${agoOf(until)}</span>`
    : badge('warn', 'invitation has expired');
}

const tokensOf = ({ name, tokens }: DescribedAccount) => tokens.map((token) => ({ ...token, account: name }));

const NO_TOKENS = html`None. Create one with <code>xiq-sink access token NAME --expires 90d</code>.`;

/** A token that expires so soon needs a successor. */
const EXPIRES_SOON_MS = 14 * DAY_MS;

const TOKEN_COLUMNS: readonly Column<ReturnType<typeof tokensOf>[number]>[] = [
  { heading: 'Label', isPlain: true, cell: ({ label, id }) => (label === '' ? `token ${id}` : label) },
  { heading: 'Account', cell: ({ account }) => account },
  { heading: 'Created', cell: ({ created_at: at }) => agoOf(at) },
  { heading: 'Last used', cell: ({ last_used_at: at }) => agoOf(at) },
  {
    heading: 'Expires',
    cell: ({ expires_at: at }) => [
      agoOf(at),
      at.getTime() - Date.now() < EXPIRES_SOON_MS && html` ${badge('warn', 'soon')}`,
    ],
  },
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

/** What tells the roles apart, by one permission each. */
const RIGHTS: readonly (readonly [heading: string, permission: Permission])[] = [
  ['See events', 'view'],
  ['Export them', 'events.export'],
  ['See the operator log', 'operator-log.read'],
  ['Replay quarantine', 'quarantine.change'],
  ['Pause and resend', 'destinations.change'],
  ['Subscriptions', 'subscriptions.apply'],
  ['Destinations, alert rules', 'outputs.change'],
  ['Sources, access', 'access.change'],
];

const ROLE_COLUMNS: readonly Column<AccountRole>[] = [
  { heading: 'Role', kind: 'nowrap', isPlain: true, cell: (role) => role },
  ...RIGHTS.map(([heading, permission]): Column<AccountRole> => ({
    heading,
    cell: (role) => ROLE_PERMISSIONS[role].has(permission) && '✓ yes',
  })),
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
