import type { VNode } from 'preact';
import { periodAt, type Period } from '../../lib/text/parse-time.ts';
import { addressOf } from '../addresses.ts';
import { textOf, type Entered, type Written } from '../api/parameters.ts';
import { zoneWord } from '../browser/shared/local-time.ts';
import { fieldOf } from './form.ts';
import { html, type Content } from './html.ts';
import { inZone, writtenIn } from './time-zone.ts';

interface Choice {
  readonly label: string;
  readonly since: string;
  readonly until?: string | undefined;
}

/** Ranges that end now. */
const RELATIVE: readonly Choice[] = [
  { label: 'Last 15 minutes', since: '15m' },
  { label: 'Last hour', since: '1h' },
  { label: 'Last 24 hours', since: '24h' },
  { label: 'Last 7 days', since: '7d' },
  { label: 'Last 30 days', since: '30d' },
];

const MONTHS = 12;

/**
 * The present range of a page, which opens the choice of another: relative, a month, or two times. Links choose the first
 * two; the times are fields of the form around it. A relative range stays relative in the address. `further` stands below.
 */
export const rangePicker = (path: string, { written, problems }: Entered, further?: Content): VNode =>
  inZone((zone) => {
    const choice = (one: Choice): Content => html`
      <li>
        <a
          href=${addressOf(path, { ...written, since: one.since, until: one.until, cursor: undefined })}
          aria-current=${isChosen(written, one) ? 'true' : undefined}
          >${one.label}</a
        >
      </li>
    `;
    const field = (name: string, label: string, placeholder: string) => {
      const text = writtenIn(zone, textOf(written, name) ?? '');
      const entered = { written: { [name]: text }, problems };
      return fieldOf(entered, name, `${label} (${zoneWord(zone)})`, placeholder);
    };
    const ranges = [
      ...RELATIVE,
      ...lastPeriods('day', 2, zone, (_day, back) => (back === 0 ? 'Today' : 'Yesterday')),
      ...lastPeriods('week', 2, zone, (_day, back) => (back === 0 ? 'This week' : 'Last week')),
    ];
    const months = lastPeriods('month', MONTHS, zone, (month) =>
      new Date(month).toLocaleDateString('en', { month: 'long', year: 'numeric', timeZone: 'UTC' }),
    );
    const chosen = [...ranges, ...months].find((one) => isChosen(written, one));
    return html`
      <details class="picker" open=${problems.has('since') || problems.has('until')}>
        <summary class="button quiet">${chosen?.label ?? rangeText(written, zone)}</summary>
        <div class="panel">
          <ul class="plain">
            ${ranges.map(choice)}
          </ul>
          <ul class="plain months">
            ${months.map(choice)}
          </ul>
          ${field('since', 'From', '24h, 2026-01-31 08:00')} ${field('until', 'To', 'now')}
          <div class="row apart"><button>Show</button> ${further}</div>
        </div>
      </details>
    `;
  });

/** The form above a list that filters it: the time range, and `fields`, its other conditions. */
export const filterForm = (path: string, label: string, entered: Entered, fields: Content): VNode => html`
  <form class="filters" method="get" action=${path} role="search" aria-label=${label}>
    ${rangePicker(path, entered)} ${fields}
    <button>Search</button>
    <a class="button quiet" href=${path}>Clear</a>
  </form>
`;

function rangeText(written: Written, zone: string): string {
  const [since, until] = ['since', 'until'].map((name) => writtenIn(zone, textOf(written, name) ?? ''));
  return since === '' && until === '' ? 'All times' : `${since || 'start'} – ${until || 'now'}`;
}

const isChosen = (written: Written, { since, until }: Choice) =>
  written['since'] === since && written['until'] === until;

/** The last periods of the calendar, the present one first, which has not ended. */
function lastPeriods(
  every: Period,
  count: number,
  zone: string,
  labelOf: (firstDay: string, back: number) => string,
): readonly Choice[] {
  let at = new Date();
  return Array.from({ length: count }, (_, back) => {
    const { label, since, until } = periodAt(every, at, zone);
    at = new Date(since.getTime() - 1);
    const end = back === 0 ? undefined : until.toISOString();
    return { label: labelOf(label, back), since: since.toISOString(), until: end };
  });
}
