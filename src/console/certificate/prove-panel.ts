import type { CertificateRange } from '../../store/seal/certificate.ts';
import { addressOf } from '../addresses.ts';
import { html, type Content } from '../html/html.ts';
import { badge, livePart } from '../html/elements.ts';
import { progressOf } from '../integrity/integrity-page.ts';
import type { DescribedRun } from '../integrity/integrity-schemas.ts';

interface Proof {
  readonly range: CertificateRange;
  /** The comparison that runs, or the last one, of whatever month. */
  readonly run: DescribedRun | undefined;
  /** The rows of this month were compared. */
  readonly isCompared: boolean;
  readonly isSigned: boolean;
}

/** Starts the comparison of a month, shows its progress, and gives the signed certificate. */
export function provePanel({ range: { month, source }, run, isCompared, isSigned }: Proof): Content {
  return livePart(
    'prove',
    html`
      <h2>Proof</h2>
      ${
        run?.state === 'running'
          ? progressOf(run)
          : html`
              ${isCompared ? documentOf(month, source, isSigned) : whatItDoes}
              <form class="row" data-action="/certificate/prove" data-done="The comparison has begun.">
                <input type="hidden" name="month" value=${month} />
                ${source && html`<input type="hidden" name="source" value=${source} />`}
                <button class=${isCompared && 'quiet'}>
                  ${isCompared ? 'Prove again' : `Prove ${month}`}
                </button>
              </form>
              ${run?.state === 'failed' && html`<p class="note bad">The last comparison failed: ${run.error}</p>`}
            `
      }
    `,
    'panel',
  );
}

const whatItDoes = html`<p>
  Compare the rows of the month with their seal, as <code>xiq-sink certificate</code> does. The certificate is
  then signed, and you can print or save it.
</p>`;

function documentOf(month: string, source: string | undefined, isSigned: boolean): Content {
  const address = addressOf('/api/v1/certificate', { month, source });
  return html`
    <p>
      ${isSigned ? badge('good', 'signed') : badge('warn', 'not signed')}${' '}
      ${isSigned ? 'The rows of the month were compared.' : "The rows of the month were compared. The log's key is not on this machine, so the certificate has no signature."}
      ${' '}Any differences are on the page <a href="/integrity#verification">Integrity</a>.
    </p>
    <p class="row">
      <a class="button" href=${address} download=${`certificate-${month}.html`}>Save certificate</a>
      <a class="button quiet" href=${address} target="_blank" rel="noopener">Open to print</a>
    </p>
  `;
}
