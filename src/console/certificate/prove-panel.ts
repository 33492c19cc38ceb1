import type { CertificateRange } from '../../store/seal/certificate.ts';
import { addressOf } from '../addresses.ts';
import { html, type Content } from '../html/html.ts';
import { badge, livePart } from '../html/elements.ts';
import { progressOf } from '../integrity/integrity-page.ts';
import type { DescribedRun } from '../integrity/integrity-schemas.ts';

/** How the certificate of a month is whose rows were compared. */
type Proof = 'signed' | 'not signed';

/**
 * Starts the comparison of a month, shows its progress, and gives the certificate. `run` is the comparison that runs, or the
 * last one, of whatever month.
 */
export function provePanel(
  { month, source }: CertificateRange,
  run: DescribedRun | undefined,
  proof: Proof | undefined,
): Content {
  return livePart(
    'prove',
    html`
      <h2>Proof</h2>
      ${
        run?.state === 'running'
          ? progressOf(run)
          : html`
              ${proof === undefined ? whatItDoes : documentOf(month, source, proof)}
              <form class="row" data-action="/certificate/prove" data-done="The comparison has begun.">
                <input type="hidden" name="month" value=${month} />
                ${source && html`<input type="hidden" name="source" value=${source} />`}
                <button class=${proof && 'quiet'}>${proof ? 'Prove again' : `Prove ${month}`}</button>
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

function documentOf(month: string, source: string | undefined, proof: Proof): Content {
  const address = addressOf('/api/v1/certificate', { month, source });
  return html`
    <p>
      ${badge(proof === 'signed' ? 'good' : 'warn', proof)} The rows of the month were compared.
      ${proof === 'not signed' && " The log's key is not on this machine, so the certificate has no signature."}
      ${' '}Any differences are on the page <a href="/integrity#verification">Integrity</a>.
    </p>
    <p class="row">
      <a class="button" href=${address} download=${`certificate-${month}.html`}>Save certificate</a>
      <a class="button quiet" href=${address} target="_blank" rel="noopener">Open to print</a>
    </p>
  `;
}
