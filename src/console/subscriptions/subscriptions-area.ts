import { z } from 'zod';
import { text } from '../api/parameters.ts';
import { HttpError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { isInScope, type Scope } from '../../store/server/scope.ts';
import { hasAccess, VIEW } from '../access/access.ts';
import { jsonRoute, orBadGateway } from '../api/route.ts';
import type { Area } from '../area.ts';
import { html, type Content, type Page } from '../html/html.ts';

/** The subscriptions of one source. `look` and `apply` query the cloud and throw if it does not answer. */
export interface SourceSubscriptions {
  readonly source: string;
  /** The plan and the subscriptions in the cloud. Changes nothing. */
  look(signal: AbortSignal): Promise<SourceView>;
  /** Lets a login that the cloud has refused be sent once more. */
  askAgain(): Promise<void>;
  /** Applies the plan. Safe to repeat. */
  apply(signal: AbortSignal): Promise<AppliedView>;
}

export interface SubscriptionsOptions {
  readonly db: Db;
  /** Empty if settings are missing. */
  readonly sources: readonly SourceSubscriptions[];
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
        answer: z.object({
          items: z.array(z.object({ source: z.string() })),
          next_cursor: z.null(),
          missing: z.array(z.string()).describe('missing settings'),
        }),
        async work(_asked, { scope }) {
          const { sources, missing } = limitTo(scope, options);
          return {
            items: sources.map(({ source }) => ({ source })),
            next_cursor: null,
            missing: missing.map(({ setting }) => setting),
          };
        },
      }),
      jsonRoute({
        route: 'GET /subscriptions/{source}',
        summary: 'plan the subscriptions of a source and list those in the cloud',
        ...VIEW,
        input: oneSource,
        answer: sourceSchema,
        work: ({ path }, { scope, signal }) =>
          context(() => find(limitTo(scope, options), path.source).look(signal)),
      }),
      jsonRoute({
        route: 'POST /subscriptions/{source}/ask-again',
        summary: 'log in to the cloud once more although it refused the login, and plan as above',
        ...APPLY,
        input: oneSource,
        answer: sourceSchema,
        async work({ path }, { scope, signal }) {
          const subscriptions = find(limitTo(scope, options), path.source);
          await subscriptions.askAgain();
          return context(() => subscriptions.look(signal));
        },
      }),
      jsonRoute({
        route: 'POST /subscriptions/{source}/apply',
        summary: 'apply the configured subscriptions (safe to repeat)',
        ...APPLY,
        input: oneSource,
        answer: appliedSchema,
        async work({ path }, { operator, scope, signal }) {
          const subscriptions = find(limitTo(scope, options), path.source);
          return recordAction(
            options.db,
            { operator, action: 'subscriptions.apply', subject: path.source },
            () => context(() => subscriptions.apply(signal)),
            ({ outcomes, unfinished }) => ({
              tried: outcomes.map(({ step, error }) => ({
                action: step.action,
                message_type: step.message_type,
                accepted: error === null,
              })),
              unfinished: unfinished.length,
            }),
          );
        },
      }),
    ],
    pages: [
      {
        path: '/subscriptions',
        entry: { label: 'Subscriptions', group: 'Delivery', icon: 'subscriptions' },
        ...VIEW,
        render: async (_request, visitor) =>
          subscriptionsPage(limitTo(visitor.scope, options), hasAccess(visitor, APPLY)),
      },
    ],
  };
}

const oneSource = { path: z.object({ source: text.max(200) }) };

type Shown = Pick<SubscriptionsOptions, 'sources' | 'missing'>;

const limitTo = (scope: Scope, { sources, missing }: SubscriptionsOptions): Shown => ({
  sources: sources.filter(({ source }) => isInScope(scope, source)),
  missing,
});

function find({ sources, missing }: Shown, name: string): SourceSubscriptions {
  const found = sources.find(({ source }) => source === name);
  if (found !== undefined) return found;
  const why =
    missing.length === 0 ? '' : `; missing settings: ${missing.map(({ setting }) => setting).join(', ')}`;
  const message = `no source "${name}" with cloud API credentials and a secret is configured${why}`;
  throw new HttpError(404, 'UNKNOWN_SOURCE', message);
}

const context = <T>(work: () => Promise<T>): Promise<T> =>
  orBadGateway('CLOUD_FAILED', 'error from the cloud', work);

/** The page of subscriptions. Querying the cloud takes time, so the browser does it. */
function subscriptionsPage({ sources, missing }: Shown, mayApply: boolean): Page {
  return {
    title: 'Subscriptions',
    modules: ['pages/subscriptions.js'],
    content:
      sources.length === 0
        ? emptyState(missing)
        : html`
            <p>
              The webhook subscriptions in the cloud, compared with the settings. Subscriptions of other
              applications are never changed.
            </p>
            ${sources.map(
              ({ source }) => html`
                <section
                  class="panel source"
                  data-source=${source}
                  data-may-apply=${mayApply ? 'yes' : 'no'}
                  aria-label=${`Source ${source}`}
                >
                  <h2>${source}</h2>
                  <p>Querying the cloud…</p>
                </section>
              `,
            )}
          `,
  };
}

function emptyState(missing: Shown['missing']): Content {
  if (missing.length === 0) {
    return html`<p class="empty">None of your sources has subscriptions that are managed from here.</p>`;
  }
  return html`<div class="empty">
    <p>Subscriptions are not managed from here because settings are missing:</p>
    <ul>
      ${missing.map(({ setting, purpose }) => html`<li><code>${setting}</code>: ${purpose}</li>`)}
    </ul>
    <p>
      docs/subscribing.md describes these settings. To subscribe by hand, see docs/first-event.md for the URL
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
      .describe('of an update; the values of a secret are left out'),
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

type AppliedView = z.input<typeof appliedSchema>;
