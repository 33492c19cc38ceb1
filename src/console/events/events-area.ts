import { z } from 'zod';
import { eventHistogram, type RangeFilter } from '../../store/events/event-histogram.ts';
import { countFacet, FACET_MS, FACETS } from '../../store/events/facets.ts';
import { accessPointNames } from '../../store/events/positions.ts';
import { VIEW } from '../access/access.ts';
import { toAnswer, jsonRoute, parseInput } from '../api/route.ts';
import { pageSchema } from '../api/paging.ts';
import { limit, wholeNumber, text } from '../api/parameters.ts';
import type { Area } from '../area.ts';
import { eventDetail } from './event-detail.ts';
import {
  conditionShape,
  cursor,
  eventOrder,
  filterOf,
  withValidRange,
  readEvents,
  SEARCH_MS,
  type Conditions,
} from './conditions.ts';
import {
  describeEvent,
  type EventDetailNeeds,
  eventDetailSchema,
  eventSchema,
  facetSchema,
  histogramSchema,
  oneEvent,
  toEventAnswer,
} from './describe-event.ts';
import { exportRoutes } from './exports.ts';
import { savedSearchRoutes } from './saved-searches.ts';
import { renderSearch } from './search-page.ts';
import { DAY_MS } from '../../lib/clock.ts';

export function eventsArea(needs: EventDetailNeeds): Area {
  const { db } = needs;
  return {
    tag: 'events',
    routes: [
      jsonRoute({
        route: 'GET /events',
        summary: 'search events',
        ...VIEW,
        input: {
          query: withValidRange({ ...conditionShape, order: eventOrder, limit: limit(50, 1_000), cursor }),
        },
        answer: pageSchema(eventSchema).extend({
          searched_to: z
            .string()
            .nullable()
            .describe(
              'where the next page goes on, if this one is not full: it was searched for 2 s, or its events are long',
            ),
        }),
        async work({ query: { limit: most, cursor: after, order, ...conditions } }, { scope }) {
          const page = { limit: most, after, order, milliseconds: SEARCH_MS };
          const found = await readEvents(db, scope, filterOf(conditions), page);
          return { ...found, items: found.items.map(toEventAnswer) };
        },
      }),
      jsonRoute({
        route: 'GET /events/histogram',
        summary: 'count matching events over time, by type',
        description: 'The default range is the last 24 hours.',
        ...VIEW,
        input: {
          query: withValidRange({
            ...conditionShape,
            bars: wholeNumber(2, 500).default(60).describe('maximum number of bars, 2 to 500'),
          }),
        },
        answer: histogramSchema,
        async work({ query: { bars: mostBars, ...conditions } }, { scope }) {
          const filter = rangeFilterOf(conditions);
          const { since, until } = filter;
          const histogram = await eventHistogram(db, scope, filter, mostBars);
          return { since, until, ...toAnswer(histogram), bars: [...histogram.bars] };
        },
      }),
      jsonRoute({
        route: 'GET /events/facets',
        summary: 'count matching events by the values of a field',
        description:
          'The most frequent values first. The default range is the last 24 hours. If counting takes too long, only the newest events are counted.',
        ...VIEW,
        input: {
          query: withValidRange({
            ...conditionShape,
            facet: z
              .enum(FACETS, `must be one of ${FACETS.join(', ')}`)
              .default('type')
              .describe('the field'),
            limit: limit(10, 200),
            milliseconds: wholeNumber(1, 10_000)
              .default(FACET_MS)
              .describe('how long counting may take, 1 to 10,000'),
          }),
        },
        answer: facetSchema,
        async work({ query: { facet, limit: most, milliseconds, ...conditions } }, { scope }) {
          const counted = await countFacet(db, scope, rangeFilterOf(conditions), facet, most, milliseconds);
          const { values, since = null, isComplete } = counted;
          const macs = facet === 'ap' ? values.map(({ value }) => value) : [];
          const names = await (macs.length > 0 ? accessPointNames(db, scope, macs) : undefined);
          const named = values.map((one) => ({ ...one, ...(names && { name: names.get(one.value) }) }));
          return { values: named, since, is_complete: isComplete };
        },
      }),
      ...exportRoutes(db),
      ...savedSearchRoutes(db),
      jsonRoute({
        route: 'GET /events/{event_id}',
        summary: 'get one event with its delivery and its forwarding',
        ...VIEW,
        input: oneEvent,
        answer: eventDetailSchema,
        work: ({ path, query }, { scope }) => describeEvent(needs, scope, path.event_id, query.at),
      }),
    ],
    pages: [
      {
        path: '/events',
        entry: { label: 'Events', group: 'Investigate', icon: 'events' },
        ...VIEW,
        render: (request, visitor) => renderSearch(db, visitor, request),
      },
      {
        path: '/events/:event_id',
        ...VIEW,
        async render(request, { scope }) {
          const { path, query } = parseInput(shownEvent, request);
          const detail = await describeEvent(needs, scope, path.event_id, query.at);
          return {
            title: `Event of ${detail.event.occurred_at.slice(0, 19).replace('T', ' ')}`,
            kind: 'dense',
            content: eventDetail(detail, query.search),
          };
        },
      },
    ],
  };
}

/** `search`: the address of the search whose drawer the event is shown in (browser/events/event-drawer.ts). */
const shownEvent = {
  ...oneEvent,
  query: oneEvent.query.extend({ search: text.startsWith('/events').optional() }),
};

/** The filter of conditions, by default of the last 24 hours. */
function rangeFilterOf(conditions: Conditions): RangeFilter {
  const until = conditions.until ?? new Date();
  const since = conditions.since ?? new Date(until.getTime() - DAY_MS);
  return { ...filterOf(conditions), since, until };
}
