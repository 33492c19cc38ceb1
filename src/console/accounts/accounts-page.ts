import { ACCOUNT_ROLES } from '../../store/access/permissions.ts';
import { formatCount } from '../../lib/text/units.ts';
import { addressOf } from '../addresses.ts';
import { NOTHING_ENTERED } from '../api/parameters.ts';
import { tableOf, type Column } from '../browser/shared/table.js';
import { agoOf, badge } from '../html/elements.ts';
import { fieldOf, selectOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import type { DescribedAccount } from './describe-accounts.ts';

/** The role that most people get is the default. */
const ROLES = ['auditor', ...ACCOUNT_ROLES.filter((role) => role !== 'auditor')].map(
  (role) => [role, role] as const,
);

/** The accounts, and the form that adds one. */
export const accountsPage = (accounts: readonly DescribedAccount[]): Page => ({
  title: 'Access',
  modules: ['pages/sources.js'],
  content: html`
    <form class="filters" data-action="/accounts" data-secret="password" aria-label="Add a person">
      ${fieldOf(NOTHING_ENTERED, 'name', 'Name', 'ada@example.com')}
      ${selectOf(NOTHING_ENTERED, 'role', 'Role', ROLES)}
      ${fieldOf(NOTHING_ENTERED, 'source', 'Sources', 'all')}
      <label><input type="checkbox" name="totp" /> With a one-time code</label>
      <button>Add</button>
    </form>
    <p class="dim">
      The password is generated and shown once. With the first account, everyone has to log in. API tokens and
      logins for SQL are made by <code>xiq-sink access</code>.
    </p>
    <div class="shown" role="status"></div>
    ${
      accounts.length === 0
        ? html`<p class="empty">No accounts yet.</p>`
        : tableOf('Accounts, by name', COLUMNS, accounts, 'sources')
    }
  `,
});

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
  const path = `/accounts/${encodeURIComponent(name)}`;
  return disabled === null
    ? html`
        <form
          data-action=${`${path}/disable`}
          data-confirm=${`Disable ${name}? Its sessions end, and its API tokens are revoked.`}
          data-done=${`${name} is disabled.`}
        >
          <button class="danger" aria-label=${`Disable ${name}`}>Disable</button>
        </form>
      `
    : html`
        <form
          data-action=${`${path}/enable`}
          data-done=${`${name} is enabled. Its earlier API tokens stay revoked.`}
        >
          <button class="quiet" aria-label=${`Enable ${name}`}>Enable</button>
        </form>
      `;
}
