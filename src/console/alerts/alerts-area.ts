import { z } from 'zod';
import { listAlerts, tallyAlerts, type RuleTally } from '../../store/alerts.ts';
import type { Db } from '../../store/database.ts';
import { listSavedSearches, type StoredSearch } from '../../store/saved-searches.ts';
import type { Scope } from '../../store/scope.ts';
import { VIEW } from '../access/rule.ts';
import { toAnswer } from '../api/answer.ts';
import { moment } from '../api/moment.ts';
import { limit, queryOf } from '../api/query.ts';
import { jsonRoute, NOTHING, readAsked } from '../api/route.ts';
import type { Area } from '../area.ts';
import { inOrder } from '../events/conditions.ts';
import { alertsPage } from './alerts-page.ts';

const SEVERITIES = ['low', 'medium', 'high', 'critical'] as const;

/** A rule as people read about it. */
export interface ShownRule {
  readonly name: string;
  readonly title: string;
  readonly severity: (typeof SEVERITIES)[number];
  readonly isOn: boolean;
}

interface AlertsOptions {
  readonly db: Db;
  /** The rules that are built in and those of the settings. */
  readonly rules: () => readonly ShownRule[];
}

/** A rule with what it has raised, and the saved search that it is of. */
export interface DescribedRule extends ShownRule {
  readonly tally: RuleTally | undefined;
  readonly search: StoredSearch | undefined;
}

const query = inOrder({
  rule: z.string().optional().describe('exactly this rule'),
  source: z.string().optional(),
  since: moment.optional().describe('when the alert was raised'),
  until: moment.optional(),
  limit: limit(100, 500),
});

const asks = z.object({ query });

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
  .meta({ id: 'RaisedAlert', description: 'An alert that a rule of this program raised' });

const ruleSchema = z
  .object({
    name: z.string(),
    title: z.string(),
    severity: z.enum(SEVERITIES),
    on: z.boolean(),
    saved_search: z.string().nullable().describe('id of the saved search that the rule is of'),
    last_alert: z.string().nullable(),
    alerts_30d: z.int(),
  })
  .meta({ id: 'AlertRule' });

/** The alerts that rules raised, and the rules. */
export function alertsArea({ db, rules }: AlertsOptions): Area {
  const describe = (scope: Scope) => describeRules(db, scope, rules());
  return {
    tag: 'alerts',
    navigation: [
      {
        path: '/alerts',
        label: 'Alerts',
        group: 'Administer',
        icon: 'M4 11V7a4 4 0 018 0v4l1.5 1.5h-11zM6.5 14.5h3',
      },
    ],
    routes: [
      jsonRoute({
        route: 'GET /alerts',
        summary: 'list raised alerts, newest first',
        ...VIEW,
        asks,
        answer: z.object({ items: z.array(alertSchema), next_cursor: z.null() }),
        async work({ query: asked }, { scope }) {
          const alerts = await listAlerts(db, scope, asked);
          const items = alerts.map((alert) => ({ ...toAnswer(alert), causes: alert.causes.map(toAnswer) }));
          return { items, next_cursor: null };
        },
      }),
      jsonRoute({
        route: 'GET /alert-rules',
        summary: 'list the alert rules: built-in, of the settings, and of saved searches',
        ...VIEW,
        asks: NOTHING,
        answer: z.object({ items: z.array(ruleSchema), next_cursor: z.null() }),
        async work(_asked, { scope }) {
          const items = (await describe(scope)).map(({ tally, search, isOn, ...rule }) => ({
            ...rule,
            on: isOn,
            saved_search: search?.id ?? null,
            last_alert: tally?.last.toISOString() ?? null,
            alerts_30d: tally?.recent ?? 0,
          }));
          return { items, next_cursor: null };
        },
      }),
    ],
    pages: [
      {
        path: '/alerts',
        ...VIEW,
        async render(request, visitor) {
          const asked = readAsked(asks, request).query;
          const [described, alerts] = await Promise.all([
            describe(visitor.scope),
            listAlerts(db, visitor.scope, asked),
          ]);
          return alertsPage({
            rules: described,
            alerts,
            written: queryOf(request),
            most: asked.limit,
            visitor,
          });
        },
      },
    ],
  };
}

/** The rules that are on come first. A reader sees the rules of the saved searches that they may see. */
async function describeRules(
  db: Db,
  scope: Scope,
  rules: readonly ShownRule[],
): Promise<readonly DescribedRule[]> {
  const [tallies, searches] = await Promise.all([tallyAlerts(db, scope), listSavedSearches(db, scope)]);
  const tallyOf = (name: string) => tallies.find(({ rule }) => rule === name);
  const own = searches
    .filter(({ raisesAlerts }) => raisesAlerts)
    .map((search) => {
      const name = `search-${search.id}`;
      return {
        name,
        title: search.name,
        severity: 'medium',
        isOn: true,
        tally: tallyOf(name),
        search,
      } as const;
    });
  const others = rules.map((rule) => ({ ...rule, tally: tallyOf(rule.name), search: undefined }));
  return [...own, ...others].toSorted((one, other) => Number(other.isOn) - Number(one.isOn));
}
