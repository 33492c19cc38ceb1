import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { eventHistogram, type RangeFilter } from '../../store/event-histogram.ts';
import { countFacet, FACETS } from '../../store/facets.ts';
import { VIEW } from '../access/rule.ts';
import { toAnswer } from '../api/answer.ts';
import { limit, wholeNumber } from '../api/query.ts';
import { jsonRoute, readAsked } from '../api/route.ts';
import type { Area } from '../area.ts';
import { EventDetail } from '../browser/event-detail.js';
import { html } from '../html/html.ts';
import {
  conditionShape,
  cursor,
  eventOrder,
  filterOf,
  inOrder,
  readEvents,
  type Conditions,
} from './conditions.ts';
import { describeEvent, type IsFiltered } from './describe-event.ts';
import {
  eventDetailSchema,
  eventPageSchema,
  facetSchema,
  histogramSchema,
  oneEvent,
  toEventAnswer,
} from './event-schemas.ts';
import { exportRoutes } from './exports.ts';
import { savedSearchRoutes } from './saved-searches.ts';
import { renderSearch } from './search-page.ts';

interface EventsOptions {
  readonly db: Db;
  readonly isFiltered: IsFiltered;
}

/** Searching events, exporting them, and the detail of one. */
export function eventsArea({ db, isFiltered }: EventsOptions): Area {
  return {
    tag: 'events',
    navigation: [
      {
        path: '/events',
        label: 'Events',
        group: 'Investigate',
        icon: 'M5 4h9M5 8h9M5 12h9M2 4h.01M2 8h.01M2 12h.01',
      },
    ],
    routes: [
      searchRoute(db),
      histogramRoute(db),
      facetsRoute(db),
      ...exportRoutes(db),
      ...savedSearchRoutes(db),
      oneEventRoute(db, isFiltered),
    ],
    pages: [
      {
        path: '/events',
        ...VIEW,
        render: (request, visitor) => renderSearch(db, visitor, request),
      },
      {
        path: '/events/:event_id',
        ...VIEW,
        async render(request, { scope }) {
          const { path, query } = readAsked(oneEvent, request);
          const detail = await describeEvent(db, scope, path.event_id, query.at, isFiltered);
          return {
            title: `Event of ${detail.event.occurred_at.slice(0, 19).replace('T', ' ')}`,
            kind: 'dense',
            content: html`<${EventDetail} ...${detail} search="/events" isPage />`,
          };
        },
      },
    ],
  };
}

const DAY_MS = 86_400_000;

const searchRoute = (db: Db) =>
  jsonRoute({
    route: 'GET /events',
    summary: 'search events',
    ...VIEW,
    asks: z.object({
      query: inOrder({ ...conditionShape, order: eventOrder, limit: limit(50, 1_000), cursor }),
    }),
    answer: eventPageSchema,
    async work({ query: { limit: most, cursor: after, order, ...conditions } }, { scope }) {
      const page = { limit: most, after, order };
      const { items, next } = await readEvents(db, scope, filterOf(conditions), page);
      return { items: items.map(toEventAnswer), next_cursor: next ?? null };
    },
  });

const histogramRoute = (db: Db) =>
  jsonRoute({
    route: 'GET /events/histogram',
    summary: 'count matching events over time, by type',
    description: 'The default range is the last 24 hours.',
    ...VIEW,
    asks: z.object({
      query: inOrder({
        ...conditionShape,
        bars: wholeNumber(2, 500).default(60).describe('maximum number of bars, 2 to 500'),
      }),
    }),
    answer: histogramSchema,
    async work({ query: { bars: mostBars, ...conditions } }, { scope }) {
      const filter = rangeFilterOf(conditions);
      const { since, until } = filter;
      const histogram = await eventHistogram(db, scope, filter, mostBars);
      return { since, until, ...toAnswer(histogram), bars: [...histogram.bars] };
    },
  });

const facetsRoute = (db: Db) =>
  jsonRoute({
    route: 'GET /events/facets',
    summary: 'count matching events by the values of a field',
    description: 'The most frequent values first. The default range is the last 24 hours.',
    ...VIEW,
    asks: z.object({
      query: inOrder({
        ...conditionShape,
        facet: z
          .enum(FACETS, `must be one of ${FACETS.join(', ')}`)
          .default('type')
          .describe('the field'),
        limit: limit(10, 200),
      }),
    }),
    answer: facetSchema,
    async work({ query: { facet, limit: most, ...conditions } }, { scope }) {
      const { values, isComplete } = await countFacet(db, scope, rangeFilterOf(conditions), facet, most);
      return { values: [...values], is_complete: isComplete };
    },
  });

/** The filter of conditions, by default of the last 24 hours. */
function rangeFilterOf(conditions: Conditions): RangeFilter {
  const until = conditions.until ?? new Date();
  const since = conditions.since ?? new Date(until.getTime() - DAY_MS);
  return { ...filterOf(conditions), since, until };
}

const oneEventRoute = (db: Db, isFiltered: IsFiltered) =>
  jsonRoute({
    route: 'GET /events/{event_id}',
    summary: 'get one event with its delivery and its forwarding',
    ...VIEW,
    asks: oneEvent,
    answer: eventDetailSchema,
    work: ({ path, query }, { scope }) => describeEvent(db, scope, path.event_id, query.at, isFiltered),
  });
