import { hash } from 'node:crypto';
import type { Certificate } from '../../store/seal/certificate.ts';
import { signDocument } from '../../seal/signed-document.ts';
import type { CoverageState } from '../../store/server/schema/cloud-tables.ts';
import type { LogKey } from '../../seal/signed-note.ts';
import { capitalized } from '../../lib/text/capitalized.ts';
import { countOf, formatCount } from '../../lib/text/units.ts';
import { COVERAGE_WORDS } from '../coverage/coverage-words.ts';
import { html, renderDocument, type Content } from '../html/html.ts';
import { badge } from '../html/elements.ts';
import { foundOf } from '../integrity/integrity-page.ts';
import { numberColumn, tableOf } from '../browser/shared/table.ts';
import { factsOf } from '../browser/shared/facts.ts';

/** A certificate says the same wherever it is read. */
const utc = (at: Date) => html`<time datetime=${at.toISOString()}>${at.toISOString()}</time>`;

/** What is certified of a month, for a page and for a document of its own. */
export function certificateContent(certificate: Certificate): Content {
  const { month, source, madeAt, installation } = certificate;
  const received = `received in ${month} (UTC)${source === undefined ? '' : ` from the source ${source}`}`;
  return html`
    <p>
      This page certifies what the installation <code>${installation}</code> ${received}, and what is proven
      about it. Created at${' '}${utc(madeAt)}.
    </p>
    <h2>Received and stored</h2>
    ${receivedOf(certificate)}
    <h2>Completeness</h2>
    ${coverageOf(certificate)}
    <h2>Integrity</h2>
    ${integrityOf(certificate)} ${checkpointOf(certificate)}
  `;
}

function receivedOf({ received, areSealed, quarantine }: Certificate): Content {
  if (received.length === 0) return html`<p class="empty">Nothing was received in this month.</p>`;
  const number = (heading: string, of: (row: Certificate['received'][number]) => number) =>
    numberColumn(heading, (row: Certificate['received'][number]) => formatCount(of(row)));
  return html`
    ${tableOf(
      'Received and stored, by source and message type',
      [
        { heading: 'Source', cell: ({ source }) => source },
        { heading: 'Type', cell: ({ messageType }) => messageType },
        number('Deliveries', ({ deliveries }) => deliveries),
        number('Expected', ({ expected }) => expected),
        number('Stored', ({ events }) => events),
        number('Duplicates', ({ duplicates }) => duplicates),
        number('Quarantined', ({ quarantined }) => quarantined),
        {
          heading: 'Balanced',
          cell: ({ addsUp }) => (addsUp ? badge('good', 'yes') : badge('bad', 'no')),
        },
      ],
      received,
    )}
    <p>
      ${
        areSealed
          ? 'These are the totals of the deliveries, whose counts are sealed.'
          : 'These are totals kept by the service. They are not sealed: for totals of the sealed deliveries, prove the month while its deliveries are still stored.'
      }${' '}
      Of the quarantined items,${' '} ${formatCount(quarantine.open)} are open,
      ${formatCount(quarantine.replayed)} were replayed and${' '} ${formatCount(quarantine.discarded)}
      discarded.
    </p>
  `;
}

function coverageOf({ coverage, sealedQuarters, healedEvents, gaps }: Certificate): Content {
  const { whole, healed, pushOnly, notComparable, unrecoverable, pending } = coverage;
  const all = whole + healed + pushOnly + notComparable + unrecoverable + pending;
  const unsealed = whole + healed - sealedQuarters;
  const proven = countOf(whole + healed, `${COVERAGE_WORDS.whole} or ${COVERAGE_WORDS.healed} quarter`);
  const named = (state: CoverageState) => capitalized(COVERAGE_WORDS[state]);
  const of = (count: number) => `${formatCount(count)} of ${countOf(all, 'quarter')}`;
  return html`
    <p>
      Counted in 15-minute windows since the first arrival of each source and message type, compared with the
      cloud's logs. Proven windows are sealed.
    </p>
    ${factsOf([
      [named('whole'), `${of(whole)} agree with the cloud's logs`],
      [named('healed'), `${of(healed)}: ${countOf(healedEvents, 'event')} were missing and were fetched`],
      [named('push only'), `${of(pushOnly)}: the cloud has no logs of these types`],
      [named('not comparable'), `${of(notComparable)}: the cloud's lists prove nothing`],
      [named('unrecoverable'), `${of(unrecoverable)}: the cloud's logs do not reach back that far`],
      [named('pending'), of(pending)],
      [
        'Sealed',
        html`${unsealed > 0 && badge('warn', `${formatCount(unsealed)} not sealed in time`)}${' '}
        ${formatCount(sealedQuarters)} of ${proven}, within a day of the
        comparison${unsealed > 0 && ': the others may have been changed before'}`,
      ],
    ])}
    ${
      gaps.length > 0 &&
      tableOf(
        'Periods in which events may have been missed',
        [
          { heading: 'Reason', cell: ({ reason }) => reason },
          { heading: 'Source', cell: ({ source }) => source ?? 'all' },
          { heading: 'Type', cell: ({ message_type: type }) => type ?? 'all' },
          { heading: 'From (UTC)', cell: ({ began_at: at }) => utc(at) },
          { heading: 'To (UTC)', cell: ({ ended_at: at }) => (at === null ? 'ongoing' : utc(at)) },
        ],
        gaps,
      )
    }
  `;
}

function integrityOf({ verification, verified, month, source }: Certificate): Content {
  const ofMonth =
    verification === undefined
      ? html`The rows of this month were not compared for this page. To compare them, use${' '}
          <b>Prove</b> or${' '}
          <code>xiq-sink certificate --month ${month}${source && ` --source ${source}`}</code>.`
      : verificationOf(verification);
  return factsOf([['This month', ofMonth], verified !== undefined && ['All time', verifiedOf(verified)]]);
}

function verifiedOf({ leaves, altered, missing, since }: NonNullable<Certificate['verified']>): Content {
  const found = `${formatCount(leaves)} rows compared: ${formatCount(altered)} altered, ${formatCount(missing)} missing.`;
  const good = leaves > 0 ? badge('good', 'as sealed') : badge('plain', 'not compared yet');
  return html`${altered + missing > 0 ? badge('bad', 'changed') : good}${' '}
  ${found}${since && html` The service has compared all of them since ${utc(since)}.`}`;
}

function verificationOf(summary: NonNullable<Certificate['verification']>): Content {
  const { doubts, comparedSince, notSealedYet } = summary;
  const what =
    'events and deliveries of the month, and the operator log, quarantine, erasures, gaps and coverage of all time';
  return html`${foundOf({ ...summary, not_sealed_yet: notSealedYet, doubts: [...doubts] }, 'as sealed')}:
  ${what}, compared since${' '}${utc(comparedSince)}. ${doubts.join(' ')}`;
}

function checkpointOf({ checkpoint, isWhole, anchors, stampedAt }: Certificate): Content {
  if (checkpoint === undefined) return html`<p class="note warn">Nothing is sealed yet.</p>`;
  const places = [
    ...anchors.map(({ anchor, anchoredAt }) => html`${anchor}${anchoredAt && html` at ${utc(anchoredAt)}`}`),
    ...stampedAt.slice(0, 1).map((at) => html`time-stamp authority at ${utc(at)}`),
  ];
  return html`
    ${
      !isWhole &&
      html`<p class="note warn">
        The month is not over or not completely sealed: create the certificate again later.
      </p>`
    }
    ${factsOf([
      ['Checkpoint', html`<pre>${checkpoint.note}</pre>`],
      ['Public key', html`<code>${checkpoint.publicKey}</code>`],
      [
        'External copies, as the service recorded them',
        places.length === 0
          ? 'none: anyone with the database and the signing key could have rebuilt the log'
          : html`<ul>
              ${places.map((place) => html`<li>${place}</li>`)}
            </ul>`,
      ],
    ])}
    <p>
      To check this page, run <code>xiq-sink verify-certificate FILE</code>, which needs no database. To check
      the rows later, save the checkpoint from an external copy as a file, and run${' '}
      <code>xiq-sink verify --against FILE</code>: the tree must contain it, and no row may be altered,
      missing or inserted.
    </p>
  `;
}

const STYLE = `
  body { font: 13px/1.5 system-ui, sans-serif; color: #171b22; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
  h1 { font-size: 22px } h2 { font-size: 15px; margin-top: 1.5rem }
  table { border-collapse: collapse; width: 100% } th, td { text-align: left; padding: 3px 8px; border-bottom: 1px solid #e3e6eb }
  .scroll { overflow-x: auto }
  .number { text-align: right; font-variant-numeric: tabular-nums }
  dl { display: grid; grid-template-columns: minmax(6rem, 12rem) minmax(0, 1fr); gap: 4px 1rem } dt { color: #5c6675 } dd { margin: 0; overflow-wrap: anywhere }
  pre, code { font: 12px/1.5 ui-monospace, monospace; overflow-wrap: anywhere; white-space: pre-wrap; margin: 0 }
  .badge { font-weight: 600 } .badge.good { color: #157347 } .badge.bad, .note { color: #b3261e }
  .visually-hidden { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden }
  @page { margin: 15mm }
  @media print { body { margin: 0; padding: 0 } h2, tr { break-inside: avoid; break-after: avoid } .scroll { overflow: visible } tr { break-after: auto } }
`;

/** For the header Content-Security-Policy of the document. */
export const STYLE_HASH = `'sha256-${hash('sha256', STYLE, 'base64')}'`;

/** A document of its own, for a file: it needs nothing else, and prints well. Without a key, it is not signed. */
export function signedCertificate(certificate: Certificate, key: LogKey | undefined): string {
  const { month } = certificate;
  const document = renderDocument(html`
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Certificate ${month}</title>
        <style dangerouslySetInnerHTML=${{ __html: STYLE }}></style>
      </head>
      <body>
        <main>
          <h1>Certificate ${month}</h1>
          ${certificateContent(certificate)}
        </main>
      </body>
    </html>
  `);
  return key === undefined ? `${document}\n` : signDocument(document, `certificate ${month}`, key);
}
