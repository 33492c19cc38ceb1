import type { StoredAlert } from '../../store/alerts.ts';
import { countOf } from '../../units.ts';
import type { Visitor } from '../access/access.ts';
import { hasAccess } from '../access/rule.ts';
import { eventAddress, searchAddress } from '../addresses.ts';
import type { Written } from '../api/query.ts';
import { ALERTING } from '../events/saved-searches.ts';
import { alertForm } from '../events/search-menus.ts';
import { fieldOf, filterForm, rangeFields, selectOf } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { badge, timeOf } from '../html/elements.ts';
import { tableOf, type Column } from '../browser/table.js';
import type { DescribedRule } from './alerts-area.ts';

interface ShownAlerts {
  readonly rules: readonly DescribedRule[];
  readonly alerts: readonly StoredAlert[];
  readonly written: Written;
  /** More alerts than this are not shown. */
  readonly most: number;
  readonly visitor: Visitor;
}

/** The page of the alerts: those that were raised, and the rules. */
export function alertsPage({ rules, alerts, written, most, visitor }: ShownAlerts): Page {
  const mayAlert = hasAccess(visitor, ALERTING);
  const titles = rules.map(({ name, title }) => [name, title] as const);
  const shown = alerts.length === most ? `The newest ${most} are shown.` : countOf(alerts.length, 'alert');
  return {
    title: 'Alerts',
    content: html`
      <p>
        A rule looks at every event as it is stored. Its alerts are events themselves, and go to the ${' '}<a
          href="/destinations"
          >destinations</a
        >.
      </p>
      ${filterForm('/alerts', 'Alerts', [
        rangeFields(written),
        selectOf(written, 'rule', 'Rule', [['', 'all rules'], ...titles]),
        fieldOf(written, 'source', 'Source', 'default'),
      ])}
      ${
        alerts.length === 0
          ? html`<p class="empty">${emptyText(rules, written)}</p>`
          : html`${tableOf('Raised alerts, newest first', ALERTS, alerts)}
              <p class="dim">${shown}</p>`
      }
      <h2>Rules</h2>
      <p class="dim">
        The settings switch rules on. On <a href="/events">Events</a>, <strong>Alert me</strong> makes a rule
        of a search.
      </p>
      ${tableOf('Rules', columnsOfRules(mayAlert), rules)}
    `,
  };
}

function emptyText(rules: readonly DescribedRule[], written: Written): string {
  if (Object.keys(written).length > 0) return 'No alerts match.';
  return rules.some(({ isOn }) => isOn) ? 'No rule has raised an alert yet.' : 'No rule is on.';
}

const SEVERITY_KINDS = { low: 'plain', medium: 'warn', high: 'bad', critical: 'bad' } as const;

const severityOf = ({ severity }: Pick<StoredAlert, 'severity'>) => badge(SEVERITY_KINDS[severity], severity);

const ruleCell = ({ title, name }: { readonly title: string; readonly name: string }): Content =>
  html`${title} <code class="dim">${name}</code>`;

const ALERTS: readonly Column<StoredAlert>[] = [
  { heading: { time: 'Raised' }, cell: ({ raisedAt }) => timeOf(raisedAt) },
  { heading: 'Severity', cell: severityOf },
  { heading: 'Alert', kind: 'wrap', cell: ({ title, rule }) => ruleCell({ title, name: rule }) },
  {
    heading: 'About',
    kind: 'wrap',
    cell: ({ group }) => Object.entries(group).map(([column, value]) => html`<div>${column} ${value}</div>`),
  },
  { heading: 'Source', cell: ({ source }) => source },
  { heading: 'Last event', cell: causeOf },
];

function causeOf({ causes, count }: StoredAlert): Content {
  const last = causes.at(-1);
  const counted = countOf(count, 'event');
  return last === undefined ? counted : html`<a href=${eventAddress(last)}>${counted}</a>`;
}

const columnsOfRules = (mayAlert: boolean): readonly Column<DescribedRule>[] => [
  { heading: 'Rule', kind: 'wrap', cell: ruleCell },
  { heading: 'State', cell: ({ isOn }) => (isOn ? badge('good', 'on') : badge('plain', 'off')) },
  { heading: 'Severity', cell: severityOf },
  {
    heading: { time: 'Last alert' },
    cell: ({ tally }) => (tally === undefined ? 'none' : timeOf(tally.last)),
  },
  {
    heading: 'In 30 days',
    kind: 'number',
    cell: ({ name, tally }) =>
      tally === undefined ? '0' : html`<a href=${`/alerts?rule=${name}&since=30d`}>${tally.recent}</a>`,
  },
  {
    heading: 'Search',
    kind: 'wrap',
    cell: ({ search }) =>
      search &&
      html`<span class="row">
        <a href=${searchAddress({ q: search.line })}><code>${search.line}</code></a>
        <span class="dim">${`saved by ${search.savedBy}`}</span>
        ${mayAlert && alertForm(search.id, search.name, true)}
      </span>`,
  },
];
