import type { Request } from 'express';
import { z } from 'zod';
import { sumArrivals } from '../../store/read-arrivals.ts';
import type { Db } from '../../store/database.ts';
import { ALL_SOURCES, type Scope } from '../../store/scope.ts';
import { readAsked } from '../api/route.ts';
import { isInOrder, NOT_IN_ORDER, rangeShape } from '../events/conditions.ts';
import { html, type Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { badge } from '../html/values.ts';
import { arrivalsPanel, type ShownRange } from './arrivals-panel.ts';
import { RANGE_NAMES, RANGES, readAskedArrivals, shortestRange, type RangeName } from './arrivals.ts';
import { arrivedPanel, conservationPanel, destinationsPanel, silencesPanel } from './event-panels.ts';
import type { Arrivals, Health, Overview } from './overview-schemas.ts';
import { startGathering, type OverviewOptions, type OverviewQuestions } from './read-overview.ts';
import { answersPanel, processesPanel, queuePanel, storagePanel, storingPanel } from './system-panels.ts';

const asks = z.object({
  query: z
    .object({
      range: z.enum(RANGE_NAMES, 'must be hour, day or week').optional(),
      ...rangeShape,
      source: z.string().optional(),
    })
    .refine(isInOrder, NOT_IN_ORDER),
});

/** The first page. browser/overview.js refreshes its parts with `data-live`. */
export async function renderOverview(
  request: Request,
  scope: Scope,
  { db, firstDelivery }: Pick<OverviewOptions, 'db' | 'firstDelivery'>,
  questions: OverviewQuestions,
): Promise<Page> {
  const { query } = readAsked(asks, request);
  const { read } = startGathering();
  const reading = questions.overview(scope);
  const range = query.range ?? (await read('range', () => defaultRange(db, scope, query.source))) ?? 'day';
  const shown = shownRange({ ...query, range }, Date.now());
  const [overview, arrivals] = await Promise.all([
    reading,
    read('chart', () => readAskedArrivals(questions.arrivals, scope, shown)),
  ]);
  return {
    title: 'Overview',
    modules: ['overview.js', 'arrivals-chart.js'],
    content: layOutPanels({ overview, seesAll: scope === ALL_SOURCES, shown, arrivals, firstDelivery }),
  };
}

/** The shortest range in which anything arrived from the source, or from any. */
async function defaultRange(db: Db, scope: Scope, source: string | undefined): Promise<RangeName> {
  const sums = await sumArrivals(db, scope);
  const times = sums
    .filter((sum) => source === undefined || sum.source === source)
    .map(({ lastReceivedAt }) => lastReceivedAt.getTime());
  return shortestRange(times.length === 0 ? undefined : new Date(Math.max(...times)), Date.now());
}

function shownRange(
  { range, since, until, source }: z.output<typeof asks>['query'] & { readonly range: RangeName },
  now: number,
): ShownRange {
  const end = until ?? new Date(now);
  return {
    range,
    isZoomed: since !== undefined || until !== undefined,
    since: since ?? new Date(end.getTime() - RANGES[range] * 1000),
    until: end,
    source,
  };
}

interface Shown {
  readonly overview: Overview;
  /** Panels about all sources together are left out for people who may not see all sources. */
  readonly seesAll: boolean;
  readonly shown: ShownRange;
  readonly arrivals: Arrivals | null;
  readonly firstDelivery: string;
}

function layOutPanels({ overview, seesAll, shown, arrivals, firstDelivery }: Shown): Content {
  return html`
    <div class="row apart">
      ${live('health', healthSection(overview.health))}
      <p id="freshness" class="dim" role="status">As of ${overview.at.slice(11, 19)} UTC</p>
    </div>
    ${live('start', seesAll && overview.has_arrived === false && firstDeliveryNote(firstDelivery))}
    ${arrivalsPanel(shown, arrivals, overview)}
    <div class="panels overview">
      ${
        seesAll && [
          live('answers', answersPanel(overview), 'panel'),
          live('queue', queuePanel(overview), 'panel'),
          live('storing', storingPanel(overview), 'panel'),
        ]
      }
      ${live('conservation', conservationPanel(overview), 'panel')}
    </div>
    <div class="panels broad">
      ${live('arrived', arrivedPanel(overview), 'panel')}
      ${seesAll && live('storage', storagePanel(overview), 'panel')}
      ${live('silences', silencesPanel(overview), 'panel wide')}
      ${
        seesAll && [
          live('destinations', destinationsPanel(overview), 'panel wide'),
          live('processes', processesPanel(overview), 'panel wide'),
        ]
      }
    </div>
  `;
}

/** A part of the page that is refreshed. */
const live = (id: string, content: Content, kind = '') =>
  html`<section id=${id} class=${kind} data-live>${content}</section>`;

const KINDS = { ok: 'good', degraded: 'warn', unavailable: 'bad' } as const;

/** The state of the service in one sentence, and each problem with the page that helps to fix it. */
function healthSection({ status, sentence, reasons }: Health): Content {
  return html`
    <p class="health">${badge(KINDS[status], status)} ${sentence}</p>
    ${
      reasons.length > 0 &&
      html`<ul class="reasons">
        ${reasons.map(
          ({ what, why, page }) =>
            html`<li><a href=${page}>${what}</a>${why !== '' && html`<span> (${why})</span>`}</li>`,
        )}
      </ul>`
    }
  `;
}

/** The first steps of a new installation. */
function firstDeliveryNote(line: string): Content {
  return html`
    <div class="empty">
      <h2>Nothing has arrived yet</h2>
      <p>To send a first delivery, run this in the directory that the service was started in:</p>
      <pre>${line}</pre>
      <p>
        The webhook secret is the setting <code>WEBHOOK_SECRET</code>, or, if that is not set, the generated
        one in <code>data/webhook-secret</code> (in <code>DATA_DIR</code>).
      </p>
      <p>
        To subscribe in the cloud, open <a href="/subscriptions">Subscriptions</a>, or run${' '}
        <code>bin/xiq-sink subscribe plan</code> and then <code>bin/xiq-sink subscribe apply</code> with${' '}
        <code>PUBLIC_URL</code>, <code>CLOUD_API_URL</code> and <code>CLOUD_API_TOKEN</code> set.
      </p>
    </div>
  `;
}
