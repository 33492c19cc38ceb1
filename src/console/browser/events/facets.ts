import { html } from 'htm/preact';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { CountedFacet } from '../../events/describe-event.ts';
import { facetValues } from './facet-values.ts';
import { searchWith } from './search-address.ts';
import { formatCount } from '../shared/numbers.ts';
import { localText } from '../shared/local-time.ts';
import { zone } from '../shared/time-zone.ts';

// The facet rail of a search: the most frequent values of each field. Each facet loads by itself, so that none holds up
// another one.

const FACETS = [
  ['type', 'Type'],
  ['action', 'Action'],
  ['outcome', 'Outcome'],
  ['user', 'Person'],
  ['code', 'Code'],
  ['ap', 'Access point'],
  ['ssid', 'SSID'],
  ['source', 'Source'],
  ['origin', 'Origin'],
];

/** Values that are shown, and those that are listed on request. */
const TOP = 10;
const MOST = 200;

/** How long counting may take at most on request, in milliseconds. */
const PATIENCE = 10_000;

const place = document.querySelector('[data-facets]');
if (place instanceof HTMLElement) {
  const path = place.dataset['facets'] ?? '';
  const titles: Readonly<Record<string, Titles>> = JSON.parse(place.dataset['titles'] ?? '{}');
  // On narrow screens they are behind a button. On wide ones the style sheet shows them from the first paint on.
  for (const part of document.querySelectorAll<HTMLDetailsElement>('details[data-wide]'))
    part.open = innerWidth >= Number(part.dataset['wide']);
  render(
    FACETS.filter(([facet]) => facet !== 'source' || !/[?&]source=/.test(path)).map(
      ([facet, label]) =>
        html`<${Facet}
          key=${facet}
          path=${path}
          facet=${facet}
          label=${label}
          titles=${titles[String(facet)] ?? {}}
          before=${place.dataset['before']}
        />`,
    ),
    place,
  );
}

type Titles = Readonly<Record<string, string>>;

interface FacetProps {
  readonly path: string;
  readonly facet: string;
  readonly label: string;
  readonly titles: Titles;
  readonly before: string | undefined;
}

/** What was counted, and with which patience. */
type Counted = CountedFacet & { readonly earlier: CountedFacet | undefined; readonly isPatient: boolean };

function Facet({ path, facet, label, titles, before }: FacetProps) {
  const [counted, setCounted] = useState<Counted | string | undefined>(undefined);
  const [isOpen, setOpen] = useState(false);
  const [begun, setBegun] = useState('');
  const [isPatient, setPatient] = useState(false);
  const search = location.pathname + location.search;
  const limit = isOpen ? MOST : TOP;
  useEffect(() => {
    const stop = new AbortController();
    const asked = isPatient ? `${path}&milliseconds=${PATIENCE}` : path;
    Promise.all([
      facetValues(asked, facet, begun, limit, stop.signal),
      before && facetValues(before, facet, begun, MOST, stop.signal),
    ]).then(
      ([now, earlier]) => setCounted({ ...now, earlier: earlier || undefined, isPatient }),
      (error) => {
        if (!stop.signal.aborted) setCounted(String(error));
      },
    );
    return () => stop.abort();
  }, [path, facet, begun, limit, isPatient]);
  if (counted === undefined)
    return html`<h2>${label}</h2>
      <p class="dim">Counting…</p>`;
  if (typeof counted === 'string')
    return html`<h2>${label}</h2>
      <p class="problem">${counted}</p>`;
  const { values, is_complete: isComplete, since, earlier } = counted;
  if (isComplete && values.length === 0 && !isOpen) return null;
  const most = values[0]?.count ?? 1;
  return html`
    <h2>
      ${label}
      ${
        (isOpen || values.length === TOP) &&
        html`<button
          class="quiet"
          type="button"
          aria-expanded=${isOpen}
          onClick=${() => {
            setOpen(!isOpen);
            setBegun('');
          }}
        >
          ${isOpen ? 'less' : 'more'}
        </button>`
      }
    </h2>
    ${
      isOpen &&
      html`<input
        type="search"
        aria-label=${`Search ${label}`}
        placeholder="begins with"
        value=${begun}
        onInput=${({ target }: InputEvent) => {
          if (target instanceof HTMLInputElement) setBegun(target.value);
          setPatient(false);
        }}
      />`
    }
    ${
      !isComplete &&
      html`<p class="dim">
        ${since === null ? 'Counting takes too long for this range.' : `since ${localText(since, zone).slice(0, 16)}`}${' '}
        ${
          !counted.isPatient &&
          html`<button class="quiet" type="button" onClick=${() => setPatient(true)}>
            ${isPatient ? 'Counting…' : 'count longer'}
          </button>`
        }
      </p>`
    }
    <ul class=${isOpen ? 'plain all' : 'plain'}>
      ${values.map(
        ({ value, count, name }) => html`
          <li key=${value}>
            <svg viewBox=${`0 0 ${most} 1`} preserveAspectRatio="none" aria-hidden="true">
              <rect width=${count} height="1" />
            </svg>
            <a
              href=${searchWith(search, facet, value)}
              title=${`${value}: click to include, Alt-click to exclude`}
              onClick=${(event: MouseEvent) => {
                if (!event.altKey) return;
                event.preventDefault();
                location.assign(searchWith(search, facet, value, true));
              }}
              >${name ?? titles[value] ?? value}</a
            >
            <span
              >${isComplete && earlier?.is_complete && html`<small>${changeOf(count, earlier, value)}</small>${' '}`}${formatCount(count)}</span
            >
          </li>
        `,
      )}
    </ul>
  `;
}

/** How many more events there are of a value than in the period before, or fewer. */
function changeOf(count: number, { values }: CountedFacet, value: string) {
  const before = values.find((one) => one.value === value)?.count;
  if (before === undefined) return 'new';
  const percent = Math.round((count / before - 1) * 100);
  return percent < 0 ? `−${-percent} %` : `+${percent} %`;
}
