import { sumArrivals } from '../../store/counts/read-arrivals.ts';
import type { Scope } from '../../store/server/scope.ts';
import { VIEW } from '../access/access.ts';
import { isoTime, moment } from '../api/parameters.ts';
import { whole, wholeSchema } from '../api/paging.ts';
import { jsonRoute, toAnswer } from '../api/route.ts';
import type { Area } from '../area.ts';
import { withValidRange, rangeShape } from '../events/conditions.ts';
import { createArrivalsReader } from './arrivals.ts';
import { createActivityReader } from './count-activity.ts';
import { renderOverview } from './overview-page.ts';
import {
  activitySchema,
  arrivalsSchema,
  conservationSchema,
  overviewSchema,
  silenceSchema,
} from './overview-schemas.ts';
import { describeConservation, readOverview, silencesWithin, type OverviewOptions } from './read-overview.ts';
import { shareAnswers } from './share-answers.ts';

const activityRange = withValidRange({
  since: moment.describe('start of the range: ISO 8601 or relative (24h)'),
  until: rangeShape.until,
});

export function overviewArea(options: OverviewOptions): Area {
  const { db, silences } = options;
  const arrivals = createArrivalsReader(db);
  const activity = createActivityReader(db);
  // Those with the same scope who ask at the same time get the same answer.
  const overview = shareAnswers((scope: Scope) => readOverview(options, arrivals, scope));
  return {
    tag: 'overview',
    routes: [
      jsonRoute({
        route: 'GET /overview',
        summary: 'get the status of the service: arriving, stored, forwarded, proven',
        description:
          'Also answers while components are unavailable: these are null, and `problems` has the reasons. Accounts that may not ' +
          'see all sources get no reasons of checks.',
        ...VIEW,
        answer: overviewSchema,
        work: (_asked, { scope }) => overview(scope),
      }),
      jsonRoute({
        route: 'GET /arrivals',
        summary: 'count arrivals by time and message type',
        description:
          'The range is extended to whole buckets. Arrivals older than 14 days are counted by hour.',
        ...VIEW,
        input: { query: activityRange },
        answer: arrivalsSchema,
        work: ({ query: { since, until = new Date() } }, { scope }) => arrivals(scope, { since, until }),
      }),
      jsonRoute({
        route: 'GET /activity',
        summary: "count events and administrators' actions in a time range",
        description:
          'Each number has `q`, the search that lists exactly its events from the same source. Numbers may be a minute old.',
        ...VIEW,
        input: { query: activityRange },
        answer: activitySchema,
        work: ({ query: { since, until = new Date() } }, { scope }) => activity(scope, { since, until }),
      }),
      jsonRoute({
        route: 'GET /silences',
        summary: 'list by source and message type how unusual the current silence is',
        ...VIEW,
        answer: wholeSchema(silenceSchema),
        work: async (_asked, { scope }) => whole(silencesWithin(scope, await silences()).map(toAnswer)),
      }),
      jsonRoute({
        route: 'GET /conservation',
        summary: 'check that every acknowledged record is accounted for',
        description:
          'Without a range: all arrivals. With a range: arrivals in the range, to the minute, or to the ' +
          'hour if older than 14 days.',
        ...VIEW,
        input: { query: withValidRange(rangeShape) },
        answer: conservationSchema.extend({
          since: isoTime.nullable().describe('start of the range; null without a range'),
          until: isoTime.nullable().describe('end of the range; null without a range'),
        }),
        async work({ query: { since, until } }, { scope }) {
          const hasRange = since !== undefined || until !== undefined;
          const range = hasRange ? { since: since ?? new Date(0), until: until ?? new Date() } : undefined;
          return {
            ...describeConservation(await sumArrivals(db, scope, range)),
            since: range?.since ?? null,
            until: range?.until ?? null,
          };
        },
      }),
    ],
    pages: [
      {
        path: '/',
        entry: { label: 'Overview', icon: 'overview' },
        ...VIEW,
        render: async (request, visitor) =>
          renderOverview(
            request,
            visitor,
            await overview(visitor.scope),
            (range) => activity(visitor.scope, range),
            options.firstDelivery,
          ),
      },
    ],
  };
}
