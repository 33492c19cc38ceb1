import type { Request } from 'express';
import { z } from 'zod';
import { allRules, readAddedRules, type ConfiguredRule } from '../../alerts/parse-rules.ts';
import { listAlerts, type StoredAlert, tallyAlerts } from '../../store/alerts/alerts.ts';
import { listAddedOutputs } from '../../store/destinations/added-outputs.ts';
import { canMatch } from '../../store/destinations/destinations.ts';
import type { Db } from '../../store/server/database.ts';
import { CHANGE_OUTPUTS, VIEW, hasAccess, type Visitor } from '../access/access.ts';
import { whole, wholeSchema } from '../api/paging.ts';
import { toAnswer, jsonRoute } from '../api/route.ts';
import { moment, limit, queryOf, readQuery, type Written, text } from '../api/parameters.ts';
import type { Area } from '../area.ts';
import { withValidRange } from '../events/conditions.ts';
import { SEVERITIES } from '../../events/rule-alert.ts';
import { countOf } from '../../lib/text/units.ts';
import { eventAddress, searchAddress } from '../addresses.ts';
import { ALERTING } from '../events/saved-searches.ts';
import { alertForm } from '../events/search-menus.ts';
import { actionButton, selectOf } from '../html/form.ts';
import { filterForm } from '../html/range-picker.ts';
import { html, type Content, type Page } from '../html/html.ts';
import { badge, timeOf } from '../html/elements.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';
import { ruleAddress, ruleForm, ruleRoutes, type AlertOutputs } from './rule-form.ts';
import { listSavedSearches } from '../../store/alerts/saved-searches.ts';

const query = withValidRange({
  rule: text.optional().describe('exactly this rule'),
  since: moment.optional().describe('when the alert was raised'),
  until: moment.optional(),
  limit: limit(100, 500),
});

const alertSchema = z
  .object({
    id: z.string(),
    raised_at: z.string(),
    rule: z.string(),
    title: z.string(),
    severity: z.enum(SEVERITIES),
    source: z.string(),
    group: z
      .record(z.string(), z.string())
      .describe('the columns that the rule groups by, with their values'),
    count: z.int().describe('events or distinct values'),
    first_at: z.string(),
    last_at: z.string(),
    causes: z
      .array(z.object({ event_id: z.string(), occurred_at: z.string() }))
      .describe('the events, at most the latest 100'),
  })
  .meta({ id: 'RaisedAlert', description: 'An alert raised by a rule of this program' });

const ruleSchema = z
  .object({
    name: z.string(),
    title: z.string(),
    severity: z.enum(SEVERITIES),
    on: z.boolean(),
    saved_search: z.string().nullable().describe('id of the saved search that the rule belongs to'),
    last_alert: z.string().nullable(),
    alerts_30d: z.int(),
  })
  .meta({ id: 'AlertRule' });

interface AlertsOptions {
  readonly db: Db;
  /** The rules of the settings. */
  readonly rules: () => readonly ConfiguredRule[];
  readonly outputs: AlertOutputs;
}

export function alertsArea(options: AlertsOptions): Area {
  const { db, outputs } = options;
  return {
    tag: 'alerts',
    routes: [
      jsonRoute({
        route: 'GET /alerts',
        summary: 'list raised alerts, newest first',
        ...VIEW,
        input: { query },
        answer: wholeSchema(alertSchema),
        async work({ query: values }, { scope }) {
          const alerts = await listAlerts(db, scope, values);
          return whole(alerts.map((alert) => ({ ...toAnswer(alert), causes: alert.causes.map(toAnswer) })));
        },
      }),
      jsonRoute({
        route: 'GET /alert-rules',
        summary: 'list the alert rules: built-in, from settings and database, and of saved searches',
        ...VIEW,
        answer: wholeSchema(ruleSchema),
        async work(_asked, context) {
          const described = await describeRules(options, context);
          return whole(
            described.map((rule) => ({
              ...rule,
              on: rule.isOn,
              saved_search: rule.search?.id ?? null,
              last_alert: rule.tally?.last.toISOString() ?? null,
              alerts_30d: rule.tally?.recent ?? 0,
            })),
          );
        },
      }),
      ...ruleRoutes(outputs),
    ],
    pages: [
      {
        path: '/alerts/edit',
        ...CHANGE_OUTPUTS,
        render: (request, visitor) => ruleForm(outputs, request, visitor),
      },
      {
        path: '/alerts',
        entry: { label: 'Alerts', group: 'Administer', icon: 'alerts' },
        ...VIEW,
        render: (request, visitor) => renderAlerts(options, request, visitor),
      },
    ],
  };
}

async function renderAlerts(options: AlertsOptions, request: Request, visitor: Visitor): Promise<Page> {
  const asked = readQuery(query, queryOf(request));
  const { values, right } = asked;
  const { limit: most } = values;
  const [rules, alerts] = await Promise.all([
    describeRules(options, visitor),
    listAlerts(options.db, visitor.scope, values),
  ]);
  const mayAlert = hasAccess(visitor, ALERTING);
  const mayChange = hasAccess(visitor, CHANGE_OUTPUTS);
  const titles = rules.map(({ name, title }) => [name, title] as const);
  const shown = alerts.length === most ? `Showing only the newest ${most}.` : countOf(alerts.length, 'alert');
  return {
    title: 'Alerts',
    beside: html`<a href="#rules">Rules</a>`,
    content: html`
      ${filterForm('/alerts', 'Alerts', asked, selectOf(asked, 'rule', 'Rule', [['', 'all rules'], ...titles]))}
      ${
        alerts.length === 0
          ? html`<p class="empty">${emptyText(rules, right)}</p>`
          : html`${tableOf('Raised alerts, newest first', ALERTS, alerts)}
              <p class="dim">${shown}</p>`
      }
      <div class="row apart">
        <h2 id="rules">Rules</h2>
        <p class="dim">
          Each event is checked as it is stored. Alerts are events, too, and go to the${' '}<a
            href="/destinations"
            >destinations</a
          >. <b>Alert me</b> on${' '}<a href="/events">Events</a> makes a rule of a search.
        </p>
        ${mayChange && html`<a class="button quiet" href=${ruleAddress()}>Add a rule</a>`}
      </div>
      ${tableOf('Rules', mayChange ? [...columnsOfRules(mayAlert), CHANGES] : columnsOfRules(mayAlert), rules)}
    `,
  };
}

function emptyText(rules: readonly DescribedRule[], written: Written): string {
  if (Object.keys(written).length > 0) return 'No alerts match.';
  return rules.some(({ isOn }) => isOn) ? 'No rule has raised an alert yet.' : 'All rules are off.';
}

const SEVERITY_KINDS = { low: 'plain', medium: 'warn', high: 'bad', critical: 'bad' } as const;

const severityOf = ({ severity }: Pick<StoredAlert, 'severity'>) => badge(SEVERITY_KINDS[severity], severity);

const ruleCell = ({ title, name }: { readonly title: string; readonly name: string }): Content =>
  html`${title} ${title !== name && html`<code class="dim">${name}</code>`}`;

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
  {
    heading: 'Rule',
    kind: 'wrap',
    cell: ({ search, ...rule }) => [
      ruleCell(rule),
      search &&
        html`<span class="row">
          <a href=${searchAddress({ q: search.line })}><code>${search.line}</code></a>
          <span class="dim">${`saved by ${search.savedBy}`}</span>
          ${mayAlert && alertForm(search.id, search.name, true)}
        </span>`,
    ],
  },
  { heading: 'State', cell: stateOf },
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
];

function stateOf({ isOn, isUnsent }: DescribedRule): Content {
  if (isUnsent) return badge('warn', 'destination missing');
  return isOn ? badge('good', 'on') : badge('plain', 'off');
}

const CHANGES: Column<DescribedRule> = {
  heading: 'Actions',
  cell({ name, title, isOn, isAdded, search }) {
    if (search !== undefined) return undefined;
    if (isOn && !isAdded) return html`<span class="dim">in the settings</span>`;
    const label = isOn ? 'Change' : 'Switch on';
    const link = html`<a class="button quiet" href=${ruleAddress(name)} aria-label=${`${label} ${name}`}
      >${label}</a
    >`;
    if (!isOn) return link;
    return html`<div class="row tight">
      ${link}
      ${actionButton(`/alert-rules/${name}/delete`, 'Switch off', {
        name: `Switch off ${name}`,
        kind: 'danger',
        confirm: `Switch off “${title}”? Its alerts stay.`,
        done: `${title} is off.`,
      })}
    </div>`;
  },
};

type DescribedRule = Awaited<ReturnType<typeof describeRules>>[number];

/** The rules that are on come first. A reader sees the rules of the saved searches, and of the sources, that they may see. */
async function describeRules(
  { db, rules, outputs: { names } }: AlertsOptions,
  { sources, scope }: Pick<Visitor, 'sources' | 'scope'>,
) {
  const [configured, known] = [rules(), names()];
  const [tallies, searches, outputs] = await Promise.all([
    tallyAlerts(db, scope),
    listSavedSearches(db, sources),
    listAddedOutputs(db),
  ]);
  const own = searches
    .filter(({ raisesAlerts }) => raisesAlerts)
    .map((search) => {
      const rule = { name: `search-${search.id}`, title: search.name, severity: 'medium' } as const;
      return { ...rule, isOn: true, isAdded: false, isUnsent: false, search };
    });
  const added = readAddedRules(outputs).filter(({ name }) => !configured.some((rule) => rule.name === name));
  const others = allRules([...configured, ...added])
    .filter(({ filter }) => filter.some((terms) => canMatch(scope, terms)))
    .map(({ name, title, severity, destinations: named = [] }) => {
      const isAdded = added.some((rule) => rule.name === name);
      const isOn = isAdded || configured.some((rule) => rule.name === name);
      const isUnsent = isOn && named.some((one) => !known.includes(one));
      return { name, title, severity, isOn, isAdded, isUnsent, search: undefined };
    });
  return [...own, ...others]
    .map((rule) => ({ ...rule, tally: tallies.find((tally) => tally.rule === rule.name) }))
    .toSorted((one, other) => Number(other.isOn) - Number(one.isOn));
}
