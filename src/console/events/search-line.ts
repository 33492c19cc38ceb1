import {
  exactTerm,
  parseSearch,
  printSearch,
  type SearchKey,
  type SearchTerm,
} from '../../events/search-query.ts';
import { searchAddress, type Query } from '../addresses.ts';
import { textOf, type Entered, type Problems, type Written } from '../api/parameters.ts';
import { rangePicker } from '../html/range-picker.ts';
import { SearchLine, type Chip } from '../browser/events/search-line.js';
import { html, type Content } from '../html/html.ts';

/** The query with the parts of its search line joined: the terms that are set, and those that are entered. */
export const joinSearchLine = (written: Written): Written =>
  Array.isArray(written['q']) ? { ...written, q: written['q'].join(' ') } : written;

export function searchWith(written: Written, key: SearchKey, value: string): Query {
  return { ...written, cursor: undefined, q: printSearch([...termsOf(written), exactTerm(key, value)]) };
}

const termsOf = (written: Written) => parseSearch(textOf(written, 'q') ?? '').terms ?? [];

/** The conditions of a search beside its line, as links of before the search line have them. */
const FURTHER = ['type', 'user', 'code', 'org', 'mac', 'ap', 'device', 'source', 'text'] as const;

/** The terms of a line that are right as the line of a query, and the text of the others with what is wrong with it. */
export function splitLine(written: Written) {
  const parsed = parseSearch(textOf(written, 'q') ?? '');
  if (parsed.problem === undefined) return { right: written, wrong: undefined };
  return { right: { ...written, q: printSearch(parsed.right) }, wrong: parsed };
}

/**
 * The search line with a chip for each term of a query, and the time range. Works without scripts. What is wrong stays in
 * the line to be mended. `facets` is where the values of the search are counted.
 */
export function searchLine(
  entered: Entered,
  wrong: ReturnType<typeof splitLine>['wrong'],
  facets: string,
): Content {
  const { written, problems } = entered;
  const terms = termsOf(written);
  const further = FURTHER.flatMap((name) =>
    [written[name] ?? []].flat().map((value) => furtherChip(written, problems, name, value)),
  );
  const line = {
    chips: [...terms.map((term) => chipOf(written, terms, term)), ...further],
    text: wrong?.wrong,
    isWrong: wrong !== undefined,
    facets,
  };
  const repaired = wrong?.repair && { ...written, q: `${textOf(written, 'q') ?? ''} ${wrong.repair}`.trim() };
  return html`
    <form class="search" method="get" action="/events" role="search" aria-label="Events">
      <div class="line" data-search-line=${JSON.stringify(line)}><${SearchLine} ...${line} /></div>
      ${rangePicker('/events', entered)}
      ${['live', 'compare'].map((name) => written[name] === 'on' && html`<input type="hidden" name=${name} value="on" />`)}
      <button>Search</button>
      ${
        wrong !== undefined &&
        html`<p class="problem" id="search-problem">
          ${wrong.problem}. The events below are those without${' '}<code>${wrong.wrong}</code>.
          ${repaired && html` <a href=${searchAddress(repaired)}>Search ${wrong.repair} instead</a>`}
        </p>`
      }
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
