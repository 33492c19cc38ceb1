import { z } from 'zod';
import { describeError, HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import { jsonRoute, NOTHING } from '../api/route.ts';
import type { ApiRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { appliedSchema, sourceSchema } from './subscription-schemas.ts';
import type { AppliedView, SourceView } from './subscription-schemas.ts';

/** The subscriptions of one source; both calls ask the cloud, and throw what keeps it from answering. */
export interface SourceSubscriptions {
  readonly source: string;
  /** What is to be done and what the cloud holds. Changes nothing. */
  look(signal: AbortSignal): Promise<SourceView>;
  /** Does it. Doing it again changes nothing. */
  apply(signal: AbortSignal): Promise<AppliedView>;
}

/** What pages and routes of subscriptions work with. */
export interface SubscriptionsOptions {
  readonly db: Db;
  /** Empty where settings are missing. */
  readonly sources: readonly SourceSubscriptions[];
  /** The settings without which there is nothing to do, each with what it is for. */
  readonly missing: readonly { readonly setting: string; readonly purpose: string }[];
}

/** What the cloud is to send us, beside what it does send. */
export function subscriptionsArea(options: SubscriptionsOptions): Area {
  return {
    navigation: [{ path: '/subscriptions', label: 'Subscriptions' }],
    routes: [listRoute(options), lookRoute(options), applyRoute(options)],
    pages: [{ path: '/subscriptions', render: async () => subscriptionsPage(options) }],
  };
}

const listRoute = ({ sources, missing }: SubscriptionsOptions): ApiRoute =>
  jsonRoute({
    method: 'get',
    path: '/subscriptions',
    tag: 'subscriptions',
    summary: 'the sources whose subscriptions this program keeps',
    asks: NOTHING,
    answer: z.object({
      items: z.array(z.object({ source: z.string() })),
      next_cursor: z.null(),
      missing: z.array(z.string()).meta({ description: 'settings without which there is nothing to do' }),
    }),
    work: async () => ({
      items: sources.map(({ source }) => ({ source })),
      next_cursor: null,
      missing: missing.map(({ setting }) => setting),
    }),
  });

const oneSource = z.object({ path: z.object({ source: z.string().max(200) }) });

const lookRoute = (options: SubscriptionsOptions): ApiRoute =>
  jsonRoute({
    method: 'get',
    path: '/subscriptions/{source}',
    tag: 'subscriptions',
    summary: 'what is to be done about the subscriptions of a source, and what the cloud holds',
    asks: oneSource,
    answer: sourceSchema,
    work: ({ path }, { signal }) => asking(() => find(options, path.source).look(signal)),
  });

const applyRoute = (options: SubscriptionsOptions): ApiRoute =>
  jsonRoute({
    method: 'post',
    path: '/subscriptions/{source}/apply',
    tag: 'subscriptions',
    summary: 'make the subscriptions what the settings say; doing it again changes nothing',
    asks: oneSource,
    answer: appliedSchema,
    async work({ path }, { operator, signal }) {
      const subscriptions = find(options, path.source);
      return recordAction(
        options.db,
        { operator, action: 'subscriptions.apply', subject: path.source },
        () => asking(() => subscriptions.apply(signal)),
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
  });

function find({ sources, missing }: SubscriptionsOptions, name: string): SourceSubscriptions {
  const found = sources.find(({ source }) => source === name);
  if (found !== undefined) return found;
  const why = missing.length === 0 ? '' : `; not set: ${missing.map(({ setting }) => setting).join(', ')}`;
  const message = `no source "${name}" with an API of the cloud and a secret is configured${why}`;
  throw new HttpError(404, 'UNKNOWN_SOURCE', message);
}

/** What the cloud answers is for the person to read: it is no defect of this program. */
async function asking<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HttpError) throw error;
    throw new HttpError(502, 'CLOUD_FAILED', `the cloud: ${describeError(error)}`, { cause: error });
  }
}

/** The page of subscriptions. Asking the cloud takes time, so the browser does it. */
export function subscriptionsPage({
  sources,
  missing,
}: Pick<SubscriptionsOptions, 'sources' | 'missing'>): Page {
  return {
    title: 'Subscriptions',
    modules: ['subscriptions.js'],
    content:
      sources.length === 0
        ? emptyState(missing)
        : html`
            <p>
              What the cloud sends to this program, compared with the settings. Subscriptions of other
              applications are never touched.
            </p>
            ${sources.map(
              ({ source }) => html`
                <section class="panel source" data-source=${source} aria-label=${`Source ${source}`}>
                  <h2>${source}</h2>
                  <p>Asking the cloud.</p>
                </section>
              `,
            )}
          `,
  };
}

const emptyState = (missing: SubscriptionsOptions['missing']): Content => html`
  <div class="empty">
    <p>This program does not keep its subscriptions in the cloud: not all that it needs is set.</p>
    <ul>
      ${missing.map(({ setting, purpose }) => html`<li><code>${setting}</code>: ${purpose}</li>`)}
    </ul>
    <p>docs/subscribing.md tells more; by hand, README.md has the address for each message type.</p>
  </div>
`;
