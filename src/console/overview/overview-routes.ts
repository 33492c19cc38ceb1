import { z } from 'zod';
import { time } from '../api/query.ts';
import { jsonRoute, NOTHING } from '../api/route.ts';
import type { ApiRoute } from '../api/route.ts';
import { listProcesses } from '../../store/processes.ts';
import { sumArrivals } from '../../store/read-arrivals.ts';
import type { OverviewOptions, OverviewQuestions } from './overview-options.ts';
import {
  arrivalsSchema,
  conservationSchema,
  overviewSchema,
  processSchema,
  silenceSchema,
} from './overview-schemas.ts';
import { readAskedArrivals } from './read-asked-arrivals.ts';
import { describeConservation, describeSilence } from './read-overview.ts';
import { processLine } from './sum-processes.ts';

const bucketSeconds = z.coerce
  .number()
  .int()
  .min(60)
  .multipleOf(60)
  .meta({ description: 'width of a bucket: a multiple of 60' });

const arrivalsQuery = z.object({
  since: time,
  until: time.optional(),
  bucket_seconds: bucketSeconds.optional(),
  points: z.coerce
    .number()
    .int()
    .min(1)
    .max(2_000)
    .optional()
    .meta({ description: 'about how many buckets, where bucket_seconds does not say' }),
  source: z.string().optional(),
});

/** The routes of the overview, in one answer and part by part. */
export function overviewRoutes(
  { db, silences }: OverviewOptions,
  { overview, arrivals }: OverviewQuestions,
): ApiRoute[] {
  const tag = 'overview';
  return [
    jsonRoute({
      method: 'get',
      path: '/overview',
      tag,
      summary: 'how the service is, in one answer',
      description: 'Answers also while parts are away: these are null, and `problems` says why.',
      asks: NOTHING,
      answer: overviewSchema,
      work: overview,
    }),
    jsonRoute({
      method: 'get',
      path: '/arrivals',
      tag,
      summary: 'what arrived, by time and message type',
      description: 'The range grows to whole buckets. What is older than 14 days is known by the hour.',
      asks: z.object({ query: arrivalsQuery }),
      answer: arrivalsSchema,
      work: async ({ query: { bucket_seconds: width, until = new Date(), ...range } }) =>
        readAskedArrivals(arrivals, { ...range, until, bucketSeconds: width }),
    }),
    jsonRoute({
      method: 'get',
      path: '/silences',
      tag,
      summary: 'how unusual it is that nothing arrives, by source and message type',
      asks: NOTHING,
      answer: z.object({ items: z.array(silenceSchema), next_cursor: z.null() }),
      work: async () => ({ items: (await silences()).map(describeSilence), next_cursor: null }),
    }),
    jsonRoute({
      method: 'get',
      path: '/processes',
      tag,
      summary: 'the processes of the last day, the living first',
      asks: NOTHING,
      answer: z.object({ items: z.array(processSchema), next_cursor: z.null() }),
      work: async () => ({ items: (await listProcesses(db)).map(processLine), next_cursor: null }),
    }),
    jsonRoute({
      method: 'get',
      path: '/conservation',
      tag,
      summary: 'whether everything that was acknowledged adds up',
      asks: NOTHING,
      answer: conservationSchema,
      work: async () => describeConservation(await sumArrivals(db)),
    }),
  ];
}
