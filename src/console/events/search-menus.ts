import type { VNode } from 'preact';
import { printSearch, type SearchTerm } from '../../search-query.ts';
import type { StoredSearch } from '../../store/saved-searches.ts';
import type { Visitor } from '../access/access.ts';
import { searchAddress } from '../addresses.ts';
import { textOf, type Written } from '../api/query.ts';
import { html, type Content } from '../html/html.ts';
import { termsOfConditions } from './search-line.ts';
import type { Conditions } from './conditions.ts';

/** The saved searches: one opens by its link; the present one is saved by a name. Works with the keyboard alone. */
export function savedMenu(
  saved: readonly StoredSearch[],
  written: Written,
  conditions: Conditions,
  { operator }: Visitor,
): VNode {
  return html`
    <details class="picker saved">
      <summary class="button quiet">Saved searches</summary>
      <div class="panel">
        <ul class="plain">
          ${saved.map(
            ({ id, name, line, since, until, savedBy }) => html`
              <li class="row apart">
                <a
                  data-saved
                  href=${searchAddress({ q: line, since: since ?? undefined, until: until ?? undefined })}
                  title=${`${line} (saved by ${savedBy})`}
                  >${name}</a
                >
                ${savedBy === operator.name && deleteForm(id, name)}
              </li>
            `,
          )}
        </ul>
        <form class="row" data-action="/saved-searches" data-done="The search is saved.">
          <input type="hidden" name="line" value=${printSearch(termsOfConditions(conditions))} />
          <input type="hidden" name="since" value=${textOf(written, 'since')} />
          <input type="hidden" name="until" value=${textOf(written, 'until')} />
          <input name="name" required maxlength="100" placeholder="Name" aria-label="Name of this search" />
          <button>Save</button>
        </form>
      </div>
    </details>
  `;
}

const deleteForm = (id: string, name: string): Content => html`
  <form
    data-action=${`/saved-searches/${id}/delete`}
    data-confirm=${`Delete the saved search “${name}”?`}
    data-done=${`The search “${name}” is deleted.`}
  >
    <button class="quiet" aria-label=${`Delete ${name}`}>×</button>
  </form>
`;

/** The search on screen in other forms: as a command, as SQL and as a rule that raises alerts. */
export function otherForms(
  conditions: Conditions,
  statement: string,
  ruleOf: (terms: readonly SearchTerm[]) => string,
): VNode {
  const terms = termsOfConditions(conditions);
  const { since, until } = conditions;
  const line = printSearch(terms);
  const range = [
    ...(since === undefined ? [] : [`--since ${since.toISOString()}`]),
    ...(until === undefined ? [] : [`--until ${until.toISOString()}`]),
  ];
  const quoted = line === '' ? [] : [`-- '${line.replaceAll("'", String.raw`'\''`)}'`];
  return html`
    <details class="picker forms">
      <summary class="button quiet">Use elsewhere</summary>
      <div class="panel">
        ${copied('On the command line', ['xiq-sink events search', ...range, ...quoted].join(' '))}
        ${copied('As SQL', statement)}
        ${copied('As an alert rule', ruleOf(terms), html`Add it to the settings: <a href="/settings">Settings</a>.`)}
      </div>
    </details>
  `;
}

/** page.js copies the text. */
const copied = (title: string, text: string, note?: Content): VNode => html`
  <div class="row apart">
    <h3>${title}</h3>
    <button class="quiet" type="button" data-copy=${text} aria-label=${`Copy: ${title}`}>Copy</button>
  </div>
  <pre tabindex="0" role="group" aria-label=${title}>${text}</pre>
  ${note !== undefined && html`<p class="dim">${note}</p>`}
`;
