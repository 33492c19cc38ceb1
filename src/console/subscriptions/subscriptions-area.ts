import { z } from 'zod';
import { countOf } from '../../lib/text/units.ts';
import { queryOf, text } from '../api/parameters.ts';
import { HttpError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { isInScope, type Scope } from '../../store/server/scope.ts';
import { hasAccess, VIEW } from '../access/access.ts';
import { addressOf } from '../addresses.ts';
import { jsonRoute, orBadGateway } from '../api/route.ts';
import type { Area } from '../area.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';
import { badge } from '../html/elements.ts';
import { actionButton } from '../html/form.ts';
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
        summary: 'retry a login that the cloud refused, and plan as above',
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
        render: (request, visitor) =>
          subscriptionsPage(
            limitTo(visitor.scope, options),
            hasAccess(visitor, APPLY),
            queryOf(request)['plan'] === 'now',
          ),
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

/** As long as a browser waits for a plan. */
const PATIENCE_MS = 120_000;

/** The page of subscriptions, with the plans or, since the cloud takes its time, with panels that load them one by one. */
async function subscriptionsPage(
  { sources, missing }: Shown,
  mayApply: boolean,
  withPlans: boolean,
): Promise<Page> {
  const panelOf = async (one: SourceSubscriptions) => html`
    <section
      class="panel source"
      data-load=${addressOf('/subscriptions', { source: one.source, plan: 'now' })}
      aria-label=${`Source ${one.source}`}
    >
      ${
        withPlans
          ? planOf(await context(() => one.look(AbortSignal.timeout(PATIENCE_MS))), mayApply)
          : waitingFor(one.source, mayApply)
      }
    </section>
  `;
  return {
    title: 'Subscriptions',
    modules: ['pages/subscriptions.ts'],
    content:
      sources.length === 0
        ? emptyState(missing)
        : html`
            <p>
              The webhook subscriptions in the cloud, compared with the settings. Other applications'
              subscriptions are never changed.
            </p>
            ${await Promise.all(sources.map(panelOf))}
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

function emptyState(missing: Shown['missing']): Content {
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
