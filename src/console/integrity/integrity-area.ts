import { z } from 'zod';
import type { Db } from '../../store/server/database.ts';
import { VERIFY, VIEW_WHOLE } from '../access/access.ts';
import { moment, month, text } from '../api/parameters.ts';
import { jsonRoute, parseInput } from '../api/route.ts';
import type { Area } from '../area.ts';
import { withValidRange } from '../events/conditions.ts';
import type { VerifyJob } from '../../seal/verify/verify-job.ts';
import { describeRun, integritySchema, verificationSchema } from './integrity-schemas.ts';
import { renderIntegrity } from './integrity-page.ts';
import { readIntegrity } from './read-integrity.ts';

const query = z.object({
  month: month.describe('month of the calendar, such as 2026-03; by default this one'),
});

const verifyBody = withValidRange({
  since: moment.optional().describe('events received since: ISO 8601 or relative (7d)'),
  until: moment.optional().describe('exclusive'),
  source: text.optional().describe('source (exact match)'),
});

/** What is sealed, who keeps it, and how the stored rows compare with it. */
export function integrityArea(db: Db, verifying: VerifyJob): Area {
  const latest = () => verifying.latest && describeRun(verifying.latest);
  return {
    tag: 'integrity',
    routes: [
      jsonRoute({
        route: 'GET /integrity',
        summary: 'get the seal of the log, and the comparison of each day of a month with it',
        ...VIEW_WHOLE,
        input: { query },
        answer: integritySchema,
        work: ({ query: { month } }) => readIntegrity(db, month),
      }),
      jsonRoute({
        route: 'GET /integrity/verification',
        summary: 'get the verification running in this process, or the last one',
        ...VIEW_WHOLE,
        answer: z.object({ verification: verificationSchema.nullable() }),
        work: async () => ({ verification: latest() ?? null }),
      }),
      jsonRoute({
        route: 'POST /integrity/verify',
        summary: 'verify the stored rows now, like the command verify',
        description: 'The range limits events and deliveries; everything else is always verified completely.',
        ...VERIFY,
        input: { body: verifyBody },
        answer: verificationSchema,
        work: async ({ body }, { operator }) => describeRun(await verifying.start(body, operator)),
      }),
    ],
    pages: [
      {
        path: '/integrity',
        entry: { label: 'Integrity', group: 'Administer', icon: 'integrity' },
        ...VIEW_WHOLE,
        render: (request, visitor) =>
          renderIntegrity(db, visitor, parseInput({ query }, request).query.month, latest()),
      },
    ],
  };
}
