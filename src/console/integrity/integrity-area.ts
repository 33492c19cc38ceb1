import { z } from 'zod';
import { statusOfSeal } from '../../status.ts';
import type { Db } from '../../store/database.ts';
import type { Operator } from '../../store/operator-log.ts';
import { hasAccess, VIEW_WHOLE } from '../access/rule.ts';
import { moment, month } from '../api/moment.ts';
import { jsonRoute, NOTHING, readAsked } from '../api/route.ts';
import type { Area } from '../area.ts';
import { inOrder } from '../events/conditions.ts';
import { integrityContent } from './integrity-page.ts';
import { integritySchema, verificationSchema, type VerificationRun } from './integrity-schemas.ts';
import { readIntegrity, type FindDifferences } from './read-integrity.ts';

const asked = z.object({
  query: z.object({
    month: month.describe('month of the calendar, such as 2026-03; by default this one'),
  }),
});

const verifyBody = inOrder({
  since: moment.optional().describe('events received since: ISO 8601 or relative (7d)'),
  until: moment.optional().describe('exclusive'),
  source: z.string().optional().describe('source (exact match)'),
});

/** Starts a verification. Throws HttpError 409 while another one runs. */
export type StartVerification = (
  range: z.output<typeof verifyBody>,
  operator: Operator,
) => Promise<VerificationRun>;

/** What the page Integrity needs. */
export interface IntegrityOptions {
  readonly db: Db;
  readonly findDifferences: FindDifferences;
  readonly start: StartVerification;
  /** The verification that this process runs, or the last one. */
  readonly latest: () => VerificationRun | undefined;
}

const VERIFY = { needs: 'integrity.verify', data: 'whole' } as const;

/** What is sealed, who keeps it, and how the stored rows compare with it. */
export function integrityArea({ db, findDifferences, start, latest }: IntegrityOptions): Area {
  return {
    tag: 'integrity',
    navigation: [
      {
        path: '/integrity',
        label: 'Integrity',
        group: 'Administer',
        icon: 'M8 1.5l5.5 2v4c0 3.5-2.5 5.7-5.5 7-3-1.3-5.5-3.5-5.5-7v-4zM5.5 8l2 2 3.5-4',
      },
    ],
    routes: [
      jsonRoute({
        route: 'GET /integrity',
        summary: 'get the seal of the log, and how the rows of each day of a month compare with it',
        ...VIEW_WHOLE,
        asks: asked,
        answer: integritySchema,
        work: ({ query }) => readIntegrity(db, query.month, findDifferences),
      }),
      jsonRoute({
        route: 'GET /integrity/verification',
        summary: 'get the verification that this process runs, or the last one',
        ...VIEW_WHOLE,
        asks: NOTHING,
        answer: z.object({ verification: verificationSchema.nullable() }),
        work: async () => ({ verification: latest() ?? null }),
      }),
      jsonRoute({
        route: 'POST /integrity/verify',
        summary: 'verify the stored rows now, as the command verify does',
        description: 'The range limits the events and deliveries; the rest is always verified whole.',
        ...VERIFY,
        asks: z.object({ body: verifyBody }),
        answer: verificationSchema,
        work: ({ body }, { operator }) => start(body, operator),
      }),
    ],
    pages: [
      {
        path: '/integrity',
        ...VIEW_WHOLE,
        async render(request, visitor) {
          const { month } = readAsked(asked, request).query;
          const integrity = await readIntegrity(db, month, findDifferences);
          const { checkpoint, verified, anchors } = integrity;
          const status = statusOfSeal(
            {
              checkpoint: checkpoint === null ? undefined : { madeAt: checkpoint.made_at },
              waiting: integrity.not_sealed_yet,
              verified: { ...verified, since: verified.since ?? undefined },
              anchors: anchors.map(({ name, error }) => ({ anchor: name, error })),
            },
            new Date(),
          );
          return {
            title: 'Integrity',
            modules: ['integrity.js'],
            content: integrityContent({
              integrity,
              status,
              month: month.month,
              run: latest(),
              mayVerify: hasAccess(visitor, VERIFY),
            }),
          };
        },
      },
    ],
  };
}
