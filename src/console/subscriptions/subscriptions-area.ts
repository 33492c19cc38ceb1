import { z } from 'zod';
import { countOf } from '../../lib/text/units.ts';
import { queryOf, text } from '../api/parameters.ts';
import { HttpError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { isInScope, type Scope } from '../../store/server/scope.ts';
import { describeApplied, viewListing, viewPlan, viewStep } from '../../subscribe/plan-view.ts';
import type { Subscriber } from '../../subscribe/subscriber.ts';
import { hasAccess, VIEW, type Visitor } from '../access/access.ts';
import { addressOf } from '../addresses.ts';
import { whole, wholeSchema } from '../api/paging.ts';
import { jsonRoute, orBadGateway } from '../api/route.ts';
import type { Area } from '../area.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';
import { badge } from '../html/elements.ts';
import { actionButton } from '../html/form.ts';
import { html, type Content, type Page } from '../html/html.ts';

export interface SubscriptionsOptions {
  readonly db: Db;
  /** Those of each source. Empty if settings are missing. */
  readonly subscribers: readonly Subscriber[];
  /** The missing settings, each with its purpose. */
  readonly missing: readonly { readonly setting: string; readonly purpose: string }[];
}

const APPLY = { needs: 'subscriptions.apply', data: 'by source' } as const;

export function subscriptionsArea(options: SubscriptionsOptions): Area {
  return {
    tag: 'subscriptions',
    routes: [
      jsonRoute({
        route: 'GET /subscriptions',
        summary: 'list the sources with managed subscriptions',
        ...VIEW,
        answer: wholeSchema(z.object({ source: z.string() })).extend({
          missing: z.array(z.string()).describe('missing settings'),
        }),
        work: async (_asked, { scope }) => ({
          ...whole(subscribersIn(scope, options).map(({ source }) => ({ source }))),
          missing: options.missing.map(({ setting }) => setting),
        }),
      }),
      jsonRoute({
        route: 'GET /subscriptions/{source}',
        summary: 'plan the subscriptions of a source and list those in the cloud',
        ...VIEW,
        input: oneSource,
        answer: sourceSchema,
        work: ({ path }, { scope, signal }) => look(find(options, scope, path.source), signal),
      }),
      jsonRoute({
        route: 'POST /subscriptions/{source}/ask-again',
        summary: 'retry a login that the cloud refused, and plan as above',
        ...APPLY,
        input: oneSource,
        answer: sourceSchema,
        async work({ path }, { scope, signal }) {
          const subscriber = find(options, scope, path.source);
          await subscriber.askAgain();
          return look(subscriber, signal);
        },
      }),
      jsonRoute({
        route: 'POST /subscriptions/{source}/apply',
        summary: 'apply the configured subscriptions (safe to repeat)',
        ...APPLY,
        input: oneSource,
        answer: appliedSchema,
        async work({ path }, { operator, scope, signal }) {
          const subscriber = find(options, scope, path.source);
          const applied = await recordAction(
            options.db,
            { operator, action: 'subscriptions.apply', subject: path.source },
            () => fromCloud(subscriber.apply('subscribed', { signal })),
            describeApplied,
          );
          return {
            outcomes: applied.outcomes.map(({ change, error }) => ({
              step: viewStep(change),
              error: error?.message ?? null,
            })),
            unfinished: applied.unfinished.map(({ change, reason }) => ({ step: viewStep(change), reason })),
          };
        },
      }),
    ],
    pages: [
      {
        path: '/subscriptions',
        entry: { label: 'Subscriptions', group: 'Delivery', icon: 'subscriptions' },
        ...VIEW,
        render: (request, visitor) => subscriptionsPage(options, visitor, queryOf(request)['plan'] === 'now'),
      },
    ],
  };
}

const oneSource = { path: z.object({ source: text.max(200) }) };

const subscribersIn = (scope: Scope, { subscribers }: SubscriptionsOptions) =>
  subscribers.filter(({ source }) => isInScope(scope, source));

function find(options: SubscriptionsOptions, scope: Scope, name: string): Subscriber {
  const found = subscribersIn(scope, options).find(({ source }) => source === name);
  if (found !== undefined) return found;
  const { missing } = options;
  const why =
    missing.length === 0 ? '' : `; missing settings: ${missing.map(({ setting }) => setting).join(', ')}`;
  const message = `no source "${name}" with cloud API credentials and a secret is configured${why}`;
  throw new HttpError(404, 'UNKNOWN_SOURCE', message);
}

const fromCloud = <T>(answer: Promise<T>): Promise<T> =>
  orBadGateway('CLOUD_FAILED', 'error from the cloud', () => answer);

/** The plan and the subscriptions in the cloud. Changes nothing. */
async function look(subscriber: Subscriber, signal: AbortSignal): Promise<SourceView> {
  const { source } = subscriber;
  const plan = await fromCloud(subscriber.plan('subscribed', signal));
  const listing = await fromCloud(subscriber.list(signal));
  return { ...viewPlan(source, plan), held: viewListing(source, listing) };
}

/** As long as a browser waits for a plan. */
const PATIENCE_MS = 120_000;

/** The page of subscriptions, with the plans or, since the cloud takes its time, with panels that load them one by one. */
async function subscriptionsPage(
  options: SubscriptionsOptions,
  visitor: Visitor,
  withPlans: boolean,
): Promise<Page> {
  const subscribers = subscribersIn(visitor.scope, options);
  const mayApply = hasAccess(visitor, APPLY);
  const panelOf = async (one: Subscriber) => html`
    <section
      class="panel source"
      data-load=${addressOf('/subscriptions', { source: one.source, plan: 'now' })}
      aria-label=${`Source ${one.source}`}
    >
      ${
        withPlans
          ? planOf(await look(one, AbortSignal.timeout(PATIENCE_MS)), mayApply)
          : waitingFor(one.source, mayApply)
      }
    </section>
  `;
  return {
    title: 'Subscriptions',
    modules: ['pages/subscriptions.ts'],
    content:
      subscribers.length === 0
        ? emptyState(options)
        : html`
            <p>
              The webhook subscriptions in the cloud, compared with the settings. Other applications'
              subscriptions are never changed.
            </p>
            ${await Promise.all(subscribers.map(panelOf))}
          `,
  };
}

/** A login that the cloud has refused is sent once more only when a person asks for it. */
const waitingFor = (source: string, mayApply: boolean): Content => html`
  <h2>${source}</h2>
  <p role="status">Querying the cloud…</p>
  <div hidden>
    ${
      mayApply &&
      actionButton(`/subscriptions/${encodeURIComponent(source)}/ask-again`, 'Log in again', {
        kind: 'quiet',
        done: `The cloud accepted the login of ${source}.`,
      })
    }
  </div>
`;

function planOf(view: SourceView, mayApply: boolean): Content {
  const { source, steps, in_order: isInOrder, compared_with: comparedWith, not_offered: missing } = view;
  const count = (action: Step['action']) => steps.filter((step) => step.action === action).length;
  const changes = steps.length - count('keep');
  return html`
    <div class="row apart">
      <h2>${source}</h2>
      ${
        !isInOrder &&
        mayApply &&
        actionButton(`/subscriptions/${encodeURIComponent(source)}/apply`, 'Apply plan', {
          confirm: `Change ${countOf(changes, 'subscription')} of ${source} in the cloud?`,
        })
      }
    </div>
    <p role="status">
      ${
        isInOrder
          ? `All ${steps.length} match the settings.`
          : `${count('create')} to create, ${count('update')} to update, ${count('delete')} to delete, ${count('keep')} unchanged.`
      }
    </p>
    ${
      comparedWith === 'records' &&
      html`<p class="note">The cloud does not list subscriptions, so the plan is based on local records.</p>`
    }
    ${missing.length > 0 && html`<p class="note">Not offered by this cloud: ${missing.join(', ')}.</p>`}
    ${
      !isInOrder &&
      html`<h3>Plan</h3>
        ${tableOf('Planned change of each subscription', STEP_COLUMNS, steps)}`
    }
    <h3>Subscriptions in the cloud</h3>
    ${tableOf('Subscriptions in the cloud', HELD_COLUMNS, view.held, 'No subscriptions. Apply the plan to create them.')}
  `;
}

type Step = SourceView['steps'][number];

const ACTIONS = {
  create: badge('good', '+ create'),
  update: badge('warn', '~ update'),
  delete: badge('bad', '− delete'),
  keep: badge('plain', 'keep'),
};

const STEP_COLUMNS: readonly Column<Step>[] = [
  { heading: 'Action', cell: ({ action }) => ACTIONS[action] },
  { heading: 'Type', cell: ({ message_type: type }) => type },
  { heading: 'ID', kind: 'mono nowrap', cell: ({ subscription_id: id }) => id },
  { heading: 'Details', kind: 'wrap', cell: detailOf },
];

function detailOf({ differences, reason, url }: Step): Content {
  if (differences === undefined) return reason === undefined ? url : `${reason}: ${url}`;
  return differences.map((one) =>
    one.member === 'secret'
      ? html`<div>secret: differs</div>`
      : html`<div>${one.member}: <del>${one.from || '(none)'}</del> → <ins>${one.to}</ins></div>`,
  );
}

const HELD_COLUMNS: readonly Column<SourceView['held'][number]>[] = [
  { heading: 'Type', kind: 'nowrap', cell: ({ message_type: type }) => type },
  { heading: 'Status', cell: ({ status }) => status },
  { heading: 'Application', cell: ({ application }) => application },
  { heading: 'Managed here', cell: ({ ours }) => (ours ? 'yes' : 'no') },
  { heading: 'ID', kind: 'mono nowrap', cell: ({ subscription_id: id }) => id },
  { heading: 'URL', kind: 'wrap', cell: ({ url }) => url },
];

function emptyState({ missing }: SubscriptionsOptions): Content {
  if (missing.length === 0) {
    return html`<p class="empty">None of your sources has subscriptions managed here.</p>`;
  }
  return html`<div class="empty">
    <p>Subscriptions are not managed here because settings are missing:</p>
    <ul>
      ${missing.map(({ setting, purpose }) => html`<li><code>${setting}</code>: ${purpose}</li>`)}
    </ul>
    <p>
      docs/subscribing.md describes these settings. To subscribe manually, see docs/first-event.md for the URL
      of each message type.
    </p>
  </div>`;
}

const action = z.enum(['create', 'update', 'delete', 'keep']);

const stepSchema = z
  .object({
    action,
    message_type: z.string(),
    url: z.string(),
    subscription_id: z.string().nullable().optional(),
    differences: z
      .array(
        z.union([
          z.object({ member: z.enum(['application', 'url', 'status']), from: z.string(), to: z.string() }),
          z.object({ member: z.literal('secret') }),
        ]),
      )
      .readonly()
      .optional()
      .describe('for updates; the values of a secret are omitted'),
    reason: z.string().optional().describe('why the subscription is deleted'),
  })
  .meta({ id: 'SubscriptionStep', description: 'The planned change of one subscription' });

const heldSchema = z
  .object({
    source: z.string(),
    subscription_id: z.string().nullable(),
    message_type: z.string(),
    status: z.string(),
    application: z.string(),
    ours: z.boolean(),
    url: z.string(),
  })
  .meta({ id: 'Subscription', description: 'A subscription in the cloud' });

const sourceSchema = z.object({
  source: z.string(),
  compared_with: z
    .enum(['cloud', 'records'])
    .describe('records: the cloud does not list subscriptions, so the plan is based on local records'),
  in_order: z.boolean(),
  steps: z.array(stepSchema).readonly(),
  not_offered: z
    .array(z.string())
    .readonly()
    .describe('configured message types that this cloud does not offer'),
  held: z.array(heldSchema).readonly(),
});

const appliedSchema = z.object({
  outcomes: z
    .array(z.object({ step: stepSchema, error: z.string().nullable() }))
    .readonly()
    .describe('each attempted change; the error is null if the cloud accepted it'),
  unfinished: z
    .array(z.object({ step: stepSchema, reason: z.string() }))
    .readonly()
    .describe('changes that are still pending; empty if the cloud shows all of them'),
});

type SourceView = z.input<typeof sourceSchema>;

export type AppliedView = z.input<typeof appliedSchema>;
