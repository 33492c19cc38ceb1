import type { VNode } from 'preact';
import { monthRange } from '../../lib/text/parse-time.ts';
import { addressOf } from '../addresses.ts';
import { textOf, type Entered, type Written } from '../api/parameters.ts';
import { localText, zoneWord } from '../browser/shared/local-time.js';
import { fieldOf } from './form.ts';
import { html, type Content } from './html.ts';
import { inZone, writtenIn } from './time-zone.ts';

/** Ranges that end now. */
const RANGES = [
  ['15m', 'Last 15 minutes'],
  ['1h', 'Last hour'],
  ['24h', 'Last 24 hours'],
  ['7d', 'Last 7 days'],
  ['30d', 'Last 30 days'],
] as const;

const MONTHS = 12;

/**
 * The present range of a page, which opens the choice of another: relative, a month, or two times. Links choose the first
 * two; the times are fields of the form around it. A relative range stays relative in the address.
 */
export const rangePicker = (path: string, { written, problems }: Entered): VNode =>
  inZone((zone) => {
    const isChosen = (since: string, until?: string) =>
      written['since'] === since && written['until'] === until;
    const choice = (label: string, since: string, until?: string): Content => html`
      <li>
        <a
          href=${addressOf(path, { ...written, since, until, cursor: undefined })}
          aria-current=${isChosen(since, until) ? 'true' : undefined}
          >${label}</a
        >
      </li>
    `;
    const field = (name: string, label: string, placeholder: string) => {
      const text = writtenIn(zone, textOf(written, name) ?? '');
      const entered = { written: { [name]: text }, problems };
      return fieldOf(entered, name, `${label} (${zoneWord(zone)})`, placeholder);
    };
    const months = monthsBefore(new Date(), zone);
    const month = months.find(({ since, until }) => isChosen(since, until));
    const label = RANGES.find(([since]) => isChosen(since))?.[1] ?? month?.label ?? rangeText(written, zone);
    return html`
      <details class="picker" open=${problems.has('since') || problems.has('until')}>
        <summary class="button quiet">${label}</summary>
        <div class="panel">
          <ul class="plain">
            ${RANGES.map(([since, text]) => choice(text, since))}
          </ul>
          <ul class="plain months">
            ${months.map(({ label: text, since, until }) => choice(text, since, until))}
          </ul>
          ${field('since', 'From', '24h, 2026-01-31 08:00')} ${field('until', 'To', 'now')}
          <button>Show</button>
        </div>
      </details>
    `;
  });

function rangeText(written: Written, zone: string): string {
  const [since, until] = ['since', 'until'].map((name) => writtenIn(zone, textOf(written, name) ?? ''));
  return since === '' && until === '' ? 'All times' : `${since || 'start'} – ${until || 'now'}`;
}

function monthsBefore(now: Date, zone: string) {
  const [year = 0, month = 0] = localText(now, zone).split('-').map(Number);
  return Array.from({ length: MONTHS }).flatMap((_, back) => {
    const first = new Date(Date.UTC(year, month - 1 - back));
    const range = monthRange(first.toISOString().slice(0, 'YYYY-MM'.length), zone);
    const label = first.toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' });
    return range === undefined
      ? []
      : [{ label, since: range.since.toISOString(), until: range.until.toISOString() }];
  });
}
