import type { Request } from 'express';
import { z } from 'zod';
import { time } from '../api/query.ts';
import { readAsked } from '../api/route.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { conservationPanel, destinationsPanel } from './accounts-panels.ts';
import { RANGE_NAMES, RANGES } from './arrival-ranges.ts';
import type { RangeName } from './arrival-ranges.ts';
import { arrivalsPanel } from './arrivals-panel.ts';
import type { ShownRange } from './arrivals-panel.ts';
import { startGathering } from './gather-parts.ts';
import { firstDeliveryNote, healthSection } from './health-section.ts';
import { arrivedPanel, silencesPanel } from './message-type-panels.ts';
import type { OverviewOptions, OverviewQuestions } from './overview-options.ts';
import type { Arrivals, Overview } from './overview-schemas.ts';
import { answersPanel, processesPanel, queuePanel, storingPanel } from './process-panels.ts';
import { readAskedArrivals } from './read-asked-arrivals.ts';
import { storagePanel } from './storage-panel.ts';

const asks = z.object({
  query: z.object({
    range: z.enum(RANGE_NAMES).optional(),
    since: time.optional(),
    until: time.optional(),
    source: z.string().optional(),
  }),
});

/** The first page. Its parts with `data-live` are kept up to date in the browser (browser/overview.js). */
export async function renderOverview(
  request: Request,
  { firstDelivery, usualRange = 'day' }: OverviewOptions,
  questions: OverviewQuestions,
): Promise<Page> {
  const { query } = readAsked(asks, request);
  const shown = shownRange({ ...query, range: query.range ?? usualRange }, Date.now());
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
