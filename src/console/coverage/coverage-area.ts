import { z } from 'zod';
import { readCoverageByDay, readQuarters } from '../../store/reconcile/coverage.ts';
import type { Db } from '../../store/server/database.ts';
import { listGaps } from '../../store/reconcile/gaps.ts';
import { VIEW } from '../access/access.ts';
import { isoTime, moment, numbers } from '../api/parameters.ts';
import { jsonRoute, parseInput } from '../api/route.ts';
import type { Area } from '../area.ts';
import { typeShape } from '../events/conditions.ts';
import { COVERAGE_STATES, GAP_REASONS } from '../../store/server/schema/cloud-tables.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { renderCoverage, shownSchema } from './coverage-page.ts';

const range = (mostDays: number) =>
  z
    .object({
      since: moment,
      until: moment.default(() => new Date()),
      ...typeShape,
    })
    .refine(({ since, until }) => since < until && until.getTime() - since.getTime() <= mostDays * DAY_MS, {
      path: ['until'],
      error: `must be later than since, by at most ${mostDays} days`,
    });

const count = z.number().int();

const quarterCounts = z.object({
  ...numbers('whole', 'healed', 'push_only', 'not_comparable', 'unrecoverable', 'pending'),
  healed_events: count.describe('events that were missing and were fetched'),
  reasons: z.array(z.string()).describe('why quarters are not comparable'),
});

const gapSchema = z
  .object({
    source: z.string().nullable().describe('null: all sources'),
    message_type: z.string().nullable().describe('null: all message types'),
    reason: z.enum(GAP_REASONS),
    began_at: isoTime,
    ended_at: isoTime.nullable().describe('null: the reason persists'),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Gap' });

/** For which times the events are proven to be complete, and when events may have been missed. */
export function coverageArea({ db }: { readonly db: Db }): Area {
  return {
    tag: 'coverage',
    routes: [
      jsonRoute({
        route: 'GET /coverage',
        summary:
          'count the quarters of an hour by day and state, and list periods in which events may have been missed',
        ...VIEW,
        input: { query: range(400) },
        answer: z.object({
          items: z.array(
            quarterCounts.extend({ day: z.iso.date(), source: z.string(), message_type: z.string() }),
          ),
          gaps: z.array(gapSchema).describe('newest first, at most 500'),
        }),
        async work({ query: { type: messageTypes, ...query } }, { scope }) {
          const filter = { ...query, messageTypes };
          const [items, gaps] = await Promise.all([
            readCoverageByDay(db, scope, filter),
            listGaps(db, scope, filter),
          ]);
          return { items, gaps };
        },
      }),
      jsonRoute({
        route: 'GET /coverage/quarters',
        summary: 'list the state of each quarter of an hour',
        ...VIEW,
        input: { query: range(7) },
        answer: z.object({
          items: z.array(
            z.object({
              quarter: isoTime,
              source: z.string(),
              message_type: z.string(),
              state: z.enum(COVERAGE_STATES),
              reason: z.string().nullable().describe('why it is not comparable'),
              healed: count.describe('events that were missing and were fetched'),
            }),
          ),
        }),
        work: async ({ query: { type: messageTypes, ...query } }, { scope }) => ({
          items: await readQuarters(db, scope, { ...query, messageTypes }),
        }),
      }),
    ],
    pages: [
      {
        path: '/coverage',
        entry: { label: 'Coverage', group: 'Delivery', icon: 'coverage' },
        ...VIEW,
        render: (request, { scope }) =>
          renderCoverage(db, scope, parseInput({ query: shownSchema }, request).query),
      },
    ],
  };
}
