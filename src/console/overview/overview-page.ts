import type { Request } from 'express';
import { z } from 'zod';
import { time } from '../api/query.ts';
import { readAsked } from '../api/route.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { badge } from '../html/values.ts';
import { arrivalsPanel } from './arrivals-panel.ts';
import type { ShownRange } from './arrivals-panel.ts';
import { RANGE_NAMES, RANGES, readAskedArrivals } from './arrivals.ts';
import { arrivedPanel, conservationPanel, destinationsPanel, silencesPanel } from './event-panels.ts';
import type { Arrivals, Health, Overview } from './overview-schemas.ts';
import { startGathering } from './read-overview.ts';
import type { OverviewOptions, OverviewQuestions } from './read-overview.ts';
import { answersPanel, processesPanel, queuePanel, storagePanel, storingPanel } from './system-panels.ts';

const asks = z.object({
  query: z.object({
    range: z.enum(RANGE_NAMES).default('day'),
    since: time.optional(),
    until: time.optional(),
    source: z.string().optional(),
  }),
});

/** The first page. Its parts with `data-live` are kept up to date in the browser (browser/overview.js). */
export async function renderOverview(
  request: Request,
  { firstDelivery }: OverviewOptions,
  questions: OverviewQuestions,
): Promise<Page> {
  const shown = shownRange(readAsked(asks, request).query, Date.now());
  const { read } = startGathering();
  const [overview, arrivals] = await Promise.all([
    questions.overview(),
    read('chart', () => readAskedArrivals(questions.arrivals, shown)),
  ]);
  return {
    title: 'Overview',
    modules: ['overview.js', 'arrivals-chart.js'],
    content: layOutPanels({ overview, shown, arrivals, firstDelivery }),
  };
}

function shownRange(
  { range, since, until, source }: z.output<typeof asks>['query'],
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
  readonly shown: ShownRange;
  readonly arrivals: Arrivals | null;
  readonly firstDelivery: string;
}

function layOutPanels({ overview, shown, arrivals, firstDelivery }: Shown): Content {
  return html`
    <div class="row apart">
      ${live('health', healthSection(overview.health))}
      <p id="freshness" class="dim" role="status">As of ${overview.at.slice(11, 19)} UTC</p>
    </div>
    ${live('start', overview.has_arrived === false && firstDeliveryNote(firstDelivery))}
    ${arrivalsPanel(shown, arrivals, overview)}
    <div class="panels overview">
      ${live('answers', answersPanel(overview), 'panel')} ${live('queue', queuePanel(overview), 'panel')}
      ${live('storing', storingPanel(overview), 'panel')}
      ${live('conservation', conservationPanel(overview), 'panel')}
    </div>
    <div class="panels broad">
      ${live('arrived', arrivedPanel(overview), 'panel')} ${live('storage', storagePanel(overview), 'panel')}
      ${live('silences', silencesPanel(overview), 'panel wide')}
      ${live('destinations', destinationsPanel(overview), 'panel wide')}
      ${live('processes', processesPanel(overview), 'panel wide')}
    </div>
  `;
}

/** A part of the page that is kept up to date. */
const live = (id: string, content: Content, kind = '') =>
  html`<section id=${id} class=${kind} data-live>${content}</section>`;

const KINDS = { ok: 'good', degraded: 'warn', unavailable: 'bad' } as const;

/** How the service is in one sentence, and each reason with the page that mends it. */
export function healthSection({ status, sentence, reasons }: Health): Content {
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

/** What a person does first. */
export function firstDeliveryNote(line: string): Content {
  return html`
    <div class="empty">
      <h2>Nothing has arrived yet</h2>
      <p>Send a first delivery from a terminal, in the directory that the service was started in:</p>
      <pre>${line}</pre>
      <p>
        The webhook secret is in <code>data/webhook-secret</code> (in <code>DATA_DIR</code>) where the service
        made it, else in the setting <code>WEBHOOK_SECRET</code>.
      </p>
      <p>
        To have the cloud send, <a href="/subscriptions">look at the subscriptions</a>, or run${' '}
        <code>bin/xiq-sink subscribe plan</code> and then <code>bin/xiq-sink subscribe apply</code> with${' '}
        <code>PUBLIC_URL</code>, <code>CLOUD_API_URL</code> and <code>CLOUD_API_TOKEN</code> set.
      </p>
    </div>
  `;
}
