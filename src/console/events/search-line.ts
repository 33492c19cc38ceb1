import {
  exactTerm,
  exactTerms,
  parseSearch,
  printSearch,
  type SearchKey,
  type SearchTerm,
} from '../../events/search-query.ts';
import { searchAddress, type Query } from '../addresses.ts';
import { only, textOf, type Entered, type Written } from '../api/parameters.ts';
import { rangePicker } from '../html/range-picker.ts';
import { SearchLine, type Chip } from '../browser/events/search-line.ts';
import { html, type Content } from '../html/html.ts';

/** The query with the parts of its search line joined: the terms that are set, and those that are entered. */
export const joinSearchLine = (written: Written): Written =>
  Array.isArray(written['q']) ? { ...written, q: written['q'].join(' ') } : written;

export function searchWith(written: Written, key: SearchKey, value: string): Query {
  return { ...written, cursor: undefined, q: printSearch([...termsOf(written), exactTerm(key, value)]) };
}

const termsOf = (written: Written) => parseSearch(textOf(written, 'q') ?? '').terms ?? [];

/** The conditions of a search beside its line, as links of before the search line have them. */
const FURTHER = ['type', 'user', 'code', 'org', 'mac', 'ap', 'device', 'text'] as const;

/**
 * Where a search leads that is not all in its line: conditions beside it become terms. A line that names one source chooses
 * it for all pages, and others than one replace that choice. Undefined: the search stays as it is.
 */
export function movedSearch(written: Written): string | undefined {
  const further = exactTerms(only(written, FURTHER));
  if (further.length > 0) {
    const q = [textOf(written, 'q') ?? '', printSearch(further)].join(' ').trim();
    return searchAddress({ ...written, ...Object.fromEntries(FURTHER.map((name) => [name, undefined])), q });
  }
  const terms = termsOf(written);
  const named = terms.filter(({ key, isExcluded }) => key === 'source' && !isExcluded);
  const [value, another] = named.flatMap(({ values }) => values);
  if (value === undefined) return undefined;
  if (another !== undefined || value.isPrefix)
    return written['source'] && searchAddress({ ...written, source: undefined });
  const rest = printSearch(terms.filter((term) => !named.includes(term)));
  return searchAddress({ ...written, source: value.text, q: rest });
}

/** The terms of a line that are right as the line of a query, and the text of the others with what is wrong with it. */
export function splitLine(written: Written) {
  const parsed = parseSearch(textOf(written, 'q') ?? '');
  if (parsed.problem === undefined) return { right: written, wrong: undefined };
  return { right: { ...written, q: printSearch(parsed.right) }, wrong: parsed };
}

/**
 * The search line with a chip for each term of a query, and the time range. Works without scripts. What is wrong stays in
 * the line to be mended. `facets` is where the values of the search are counted; `compare` stands with the ranges.
 */
export function searchLine(
  entered: Entered,
  wrong: ReturnType<typeof splitLine>['wrong'],
  facets: string,
  compare: Content,
): Content {
  const { written } = entered;
  const terms = termsOf(written);
  const line = {
    chips: terms.map((term) => chipOf(written, terms, term)),
    text: wrong?.wrong,
    isWrong: wrong !== undefined,
    facets,
  };
  const repaired = wrong?.repair && { ...written, q: `${textOf(written, 'q') ?? ''} ${wrong.repair}`.trim() };
  return html`
    <form class="search" method="get" action="/events" role="search" aria-label="Events">
      <div class="line" data-search-line=${JSON.stringify(line)}><${SearchLine} ...${line} /></div>
      ${rangePicker('/events', entered, compare)}
      ${['live', 'compare'].map((name) => written[name] === 'on' && html`<input type="hidden" name=${name} value="on" />`)}
      <button>Search</button>
      ${
        wrong !== undefined &&
        html`<p class="problem" id="search-problem">
          ${wrong.problem}. The events below ignore${' '}<code>${wrong.wrong}</code>.
          ${repaired && html` <a href=${searchAddress(repaired)}>Search ${wrong.repair} instead</a>`}
        </p>`
      }
    </form>
  `;
}

function chipOf(written: Written, terms: readonly SearchTerm[], term: SearchTerm): Chip {
  const text = printSearch([term]);
  const rest = { ...written, cursor: undefined, q: printSearch(terms.filter((one) => one !== term)) };
  return { text, isExcluded: term.isExcluded, href: searchAddress(rest) };
}
