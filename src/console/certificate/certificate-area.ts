import { z } from 'zod';
import { HttpError } from '../../lib/errors.ts';
import type { LogKey } from '../../seal/signed-note.ts';
import type { VerifyJob } from '../../seal/verify/verify-job.ts';
import { readCertificate, type CertificateRange } from '../../store/seal/certificate.ts';
import type { Db } from '../../store/server/database.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { hasAccess, VERIFY, VIEW, VIEW_WHOLE } from '../access/access.ts';
import { month, text } from '../api/parameters.ts';
import { jsonRoute, parseInput, streamRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { monthField } from '../html/form.ts';
import { livePart } from '../html/elements.ts';
import { html } from '../html/html.ts';
import { describeRun, verificationSchema } from '../integrity/integrity-schemas.ts';
import { certificateContent, signedCertificate, STYLE_HASH } from './certificate-page.ts';
import { provePanel } from './prove-panel.ts';

const monthOfSource = z.object({
  month: month.describe('month such as 2026-03, in UTC; by default this one'),
  source: text.optional().describe('source (exact match)'),
});

interface CertificateOptions {
  readonly db: Db;
  readonly verifying: VerifyJob;
  /** The key that signs on this machine; undefined: there is none. */
  readonly signingKey: () => Promise<LogKey | undefined>;
}

/** What is certified of a month, and its proof: the comparison of its rows, and the signed document. */
export function certificateArea({ db, verifying, signingKey }: CertificateOptions): Area {
  /** The comparison of the month, if it is the last one that this process ran. */
  const resultOf = ({ month, source }: CertificateRange) => {
    const run = verifying.latest;
    return run?.month === month && run.source === source ? run.result : undefined;
  };
  return {
    tag: 'certificate',
    routes: [
      jsonRoute({
        route: 'POST /certificate/prove',
        summary: 'compare the rows of a month with their seal, for the certificate',
        description: 'GET /integrity/verification has the progress.',
        ...VERIFY,
        input: { body: monthOfSource },
        answer: verificationSchema,
        work: async ({ body: { month, source } }, { operator }) =>
          describeRun(await verifying.start({ ...month, source }, operator)),
      }),
      streamRoute({
        route: 'GET /certificate',
        summary: 'get the signed certificate of the last compared month',
        ...VERIFY,
        input: { query: monthOfSource },
        mediaTypes: { 'text/html': 'what `xiq-sink verify-certificate` checks' },
        async work({ query }, _context, response) {
          const range = { ...query.month, source: query.source };
          const result = resultOf(range);
          if (result === undefined) {
            throw new HttpError(409, 'NOT_COMPARED', `${range.month} was not compared: prove it first`);
          }
          const scope = range.source === undefined ? ALL_SOURCES : [range.source];
          const certificate = await readCertificate(db, scope, range, result);
          response.set('Content-Security-Policy', `default-src 'none'; style-src ${STYLE_HASH}`);
          response.set('Content-Disposition', `inline; filename="certificate-${range.month}.html"`);
          response.type('html').send(signedCertificate(certificate, await signingKey()));
        },
      }),
    ],
    pages: [
      {
        path: '/certificate',
        entry: { label: 'Certificate', group: 'Administer', icon: 'certificate' },
        ...VIEW,
        async render(request, visitor) {
          const { month, source } = parseInput({ query: monthOfSource }, request).query;
          const range = { ...month, source };
          const result = hasAccess(visitor, VIEW_WHOLE) ? resultOf(range) : undefined;
          const certificate = await readCertificate(db, visitor.scope, range, result);
          const run = verifying.latest && describeRun(verifying.latest);
          const proof = result && ((await signingKey()) === undefined ? 'not signed' : 'signed');
          return {
            title: `Certificate ${month.month}`,
            modules: run?.state === 'running' ? ['pages/overview.ts'] : [],
            content: html`
              <form class="filters" action="/certificate" aria-label="Month">
                ${monthField(month.month)}
                <button>Show</button>
              </form>
              ${hasAccess(visitor, VERIFY) && provePanel(range, run, proof)}
              ${livePart('certificate', certificateContent(certificate))}
            `,
          };
        },
      },
    ],
  };
}
