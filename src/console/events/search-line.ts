import type { VNode } from 'preact';
import { monthRange } from '../../lib/text/parse-time.ts';
import {
  exactTerm,
  parseSearch,
  printSearch,
  type SearchKey,
  type SearchTerm,
} from '../../events/search-query.ts';
import { addressOf, searchAddress, type Query } from '../addresses.ts';
import { textOf, type Problems, type Written } from '../api/parameters.ts';
import { RANGES, rangeFields } from '../html/form.ts';
import { localText } from '../browser/shared/local-time.js';
import { SearchLine, type Chip } from '../browser/events/search-line.js';
import { html, type Content } from '../html/html.ts';
import { inZone, writtenIn } from '../html/time-zone.ts';

/** The query with the parts of its search line joined: the terms that are set, and those that are entered. */
export const joinSearchLine = (written: Written): Written =>
  Array.isArray(written['q']) ? { ...written, q: written['q'].join(' ') } : written;

export function searchWith(written: Written, key: SearchKey, value: string): Query {
  return { ...written, cursor: undefined, q: printSearch([...termsOf(written), exactTerm(key, value)]) };
}

const termsOf = (written: Written) => parseSearch(textOf(written, 'q') ?? '').terms ?? [];

/** The conditions of a search beside its line, as links of before the search line have them. */
const FURTHER = ['type', 'user', 'code', 'org', 'mac', 'ap', 'device', 'source', 'text'] as const;

/**
 * The search line with a chip for each term, and the time range. Works without scripts. `facets` is where the values of
 * the search are counted.
 */
export function searchLine(written: Written, problems: Problems, facets?: string): VNode {
  const terms = problems.has('q') ? [] : termsOf(written);
  const further = FURTHER.flatMap((name) =>
    [written[name] ?? []].flat().map((value) => furtherChip(written, problems, name, value)),
  );
  const problem = problems.get('q');
  const line = {
    chips: [...terms.map((term) => chipOf(written, terms, term)), ...further],
    text: problem === undefined ? undefined : textOf(written, 'q'),
    isWrong: problem !== undefined,
    facets,
  };
  return html`
    <form class="search" method="get" action="/events" role="search" aria-label="Events">
      <div class="line" data-search-line=${JSON.stringify(line)}><${SearchLine} ...${line} /></div>
      ${inZone((zone) => timePicker(written, problems, zone))}
      ${written['live'] === 'on' && html`<input type="hidden" name="live" value="on" />`}
      <button>Search</button>
      ${problem !== undefined && html`<p class="problem" id="search-problem">${problem}.</p>`}
    </form>
  `;
}

function chipOf(written: Written, terms: readonly SearchTerm[], term: SearchTerm): Chip {
  const text = printSearch([term]);
  const rest = { ...written, cursor: undefined, q: printSearch(terms.filter((one) => one !== term)) };
  return { name: 'q', value: text, text, isExcluded: term.isExcluded, href: searchAddress(rest) };
}

function furtherChip(written: Written, problems: Problems, name: string, value: string): Chip {
  const rest = [written[name] ?? []].flat().filter((one) => one !== value);
  const problem = problems.get(name);
  return {
    name,
    value,
    text: `${name}:${value}${problem === undefined ? '' : ` ${problem}`}`,
    isExcluded: problem !== undefined,
    href: searchAddress({ ...written, cursor: undefined, [name]: rest }),
  };
}

const MONTHS = 12;

/** The present range, which opens the choice of another: relative, a month, or two times. */
function timePicker(written: Written, problems: Problems, zone: string): VNode {
  const isNamed = (since: string) => written['since'] === since && written['until'] === undefined;
  const isWrong = problems.has('since') || problems.has('until');
  const choice = (label: string, since: string, until?: string): Content => html`
    <li>
      <a
        href=${addressOf('/events', { ...written, since, until, cursor: undefined })}
        aria-current=${written['since'] === since && written['until'] === until ? 'true' : undefined}
        >${label}</a
      >
    </li>
  `;
  const months = monthsBefore(new Date(), zone);
  const month = months.find(({ since, until }) => written['since'] === since && written['until'] === until);
  const label = RANGES.find(([since]) => isNamed(since))?.[1] ?? month?.label ?? rangeText(written, zone);
  return html`
    <details class="picker" open=${isWrong}>
      <summary class="button quiet">${label}</summary>
      <div class="panel">
        <ul class="plain">
          ${RANGES.map(([since, text]) => choice(text, since))}
        </ul>
        <ul class="plain months">
          ${months.map(({ label: text, since, until }) => choice(text, since, until))}
        </ul>
        <div class="fields">${rangeFields(written, problems)}</div>
      </div>
    </details>
  `;
}

const rangeText = (written: Written, zone: string) =>
  ['since', 'until']
    .map((name, index) => writtenIn(zone, textOf(written, name) ?? (index === 0 ? 'start' : 'now')))
    .join(' – ');

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
