import { ACCOUNT_ROLES } from '../../store/access/permissions.ts';
import { formatCount } from '../../lib/text/units.ts';
import { addressOf } from '../addresses.ts';
import { NOTHING_ENTERED, type Entered } from '../api/parameters.ts';
import { tableOf, type Column } from '../browser/shared/table.js';
import { agoOf, badge } from '../html/elements.ts';
import { fieldOf, selectOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import type { DescribedAccount } from './describe-accounts.ts';

/** The role that most people get is the default. */
const ROLES = ['auditor', ...ACCOUNT_ROLES.filter((role) => role !== 'auditor')].map(
  (role) => [role, role] as const,
);

/** The accounts, and the form that adds one, or changes the one with this name. */
export const accountsPage = (accounts: readonly DescribedAccount[], changed?: string): Page => ({
  title: 'Access',
  modules: ['pages/sources.js'],
  content: html`
    ${formOf(accounts.find(({ name }) => name === changed))}
    <div class="shown" role="status"></div>
    ${
      accounts.length === 0
        ? html`<p class="empty">No accounts yet.</p>`
        : tableOf('Accounts, by name', COLUMNS, accounts, 'sources')
    }
  `,
});

const formOf = (changed: DescribedAccount | undefined): Content =>
  changed === undefined
    ? html`
        <form class="filters" data-action="/accounts" data-secret="password" aria-label="Add a person">
          ${fieldOf(NOTHING_ENTERED, 'name', 'Name', 'ada@example.com')} ${fieldsOf(NOTHING_ENTERED)}
          <label><input type="checkbox" name="totp" /> With a one-time code</label>
          <button>Add</button>
        </form>
        <p class="dim">
          The password is generated and shown once. With the first account, everyone has to log in. API tokens
          and logins for SQL are made by <code>xiq-sink access</code>.
        </p>
      `
    : html`
        <h2>${changed.name}</h2>
        <form
          class="filters"
          data-action=${`${accountPath(changed.name)}/change`}
          data-then="/access"
          data-done=${`${changed.name} is changed, and has to log in again.`}
          aria-label=${`Change ${changed.name}`}
        >
          ${fieldsOf({
            ...NOTHING_ENTERED,
            written: { role: changed.role, source: changed.sources?.join(', ') ?? '' },
          })}
          <button>Save</button>
          <a class="button quiet" href="/access">Cancel</a>
        </form>
      `;

const fieldsOf = (entered: Entered): Content => [
  selectOf(entered, 'role', 'Role', ROLES),
  fieldOf(entered, 'source', 'Sources', 'all'),
];

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
  { heading: 'Logs in with', cell: ({ login }) => login },
  {
    heading: 'Last login',
    cell: ({ last_login_at: at }) => (at === null ? html`<span class="dim">never</span>` : agoOf(at)),
  },
  { heading: 'API tokens', kind: 'number', cell: ({ api_tokens: count }) => formatCount(count) },
  { heading: 'Actions', cell: actionsOn },
];

function actionsOn({ name, disabled_at: disabled }: DescribedAccount): Content {
  const path = accountPath(name);
  return disabled === null
    ? html`<div class="row tight">
        <a class="button quiet" href=${addressOf('/access', { change: name })} aria-label=${`Change ${name}`}
          >Change</a
        >
        <form
          data-action=${`${path}/disable`}
          data-confirm=${`Disable ${name}? Its sessions end, and its API tokens are revoked.`}
          data-done=${`${name} is disabled.`}
        >
          <button class="danger" aria-label=${`Disable ${name}`}>Disable</button>
        </form>
      </div>`
    : html`
        <form
          data-action=${`${path}/enable`}
          data-done=${`${name} is enabled. Its earlier API tokens stay revoked.`}
        >
          <button class="quiet" aria-label=${`Enable ${name}`}>Enable</button>
        </form>
      `;
}
