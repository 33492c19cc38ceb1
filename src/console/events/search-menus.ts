import { isDeletable, type StoredSearch } from '../../store/alerts/saved-searches.ts';
import { type Visitor, hasAccess } from '../access/access.ts';
import { searchAddress, type Query } from '../addresses.ts';
import { textOf, type Written } from '../api/parameters.ts';
import { actionButton } from '../html/form.ts';
import { html, type Content } from '../html/html.ts';
import { badge, exportLinks } from '../html/elements.ts';
import { ALERTING, editorOf, LONGEST_NAME } from './saved-searches.ts';

/** The saved searches: one opens by its link; the present one is saved by a name. Works with the keyboard alone. */
export function savedMenu(
  saved: readonly StoredSearch[],
  written: Written,
  line: string,
  visitor: Visitor,
): Content {
  const editor = editorOf(visitor);
  const { mayAlert } = editor;
  return html`
    <details class="picker saved">
      <summary class="button quiet">Saved</summary>
      <div class="panel">
        <ul class="plain">
          ${saved.map((search) => {
            const { id, name, since, until, savedBy, raisesAlerts } = search;
            return html`
              <li class="row apart">
                <a
                  data-saved
                  href=${searchAddress({ q: search.line, since: since ?? undefined, until: until ?? undefined })}
                  title=${`${search.line} (saved by ${savedBy})`}
                  >${name}</a
                >
                <span class="row">
                  ${mayAlert ? alertForm(id, name, raisesAlerts) : raisesAlerts && badge('plain', 'alerts on')}
                  ${isDeletable(search, editor) && deleteForm(id, name)}
                </span>
              </li>
            `;
          })}
        </ul>
        <form class="row" data-action="/saved-searches" data-done="The search was saved.">
          <input type="hidden" name="line" value=${line} />
          <input type="hidden" name="since" value=${textOf(written, 'since')} />
          <input type="hidden" name="until" value=${textOf(written, 'until')} />
          <input
            name="name"
            required
            maxlength=${LONGEST_NAME}
            placeholder="Name"
            aria-label="Name of this search"
          />
          <button>Save</button>
        </form>
      </div>
    </details>
  `;
}

export const alertForm = (id: string, name: string, raisesAlerts: boolean): Content =>
  actionButton(`/saved-searches/${id}/alerts`, raisesAlerts ? 'Stop alerts' : 'Alert me', {
    name: `${raisesAlerts ? 'Stop alerts of' : 'Alert me on'} ${name}`,
    kind: 'quiet',
    done: raisesAlerts
      ? `The search “${name}” no longer raises alerts.`
      : `New events that match the search “${name}” raise alerts.`,
    values: { state: raisesAlerts ? 'off' : 'on' },
  });

const deleteForm = (id: string, name: string): Content =>
  actionButton(`/saved-searches/${id}/delete`, '×', {
    name: `Delete ${name}`,
    kind: 'quiet',
    confirm: `Delete the saved search “${name}”?`,
    done: `The search “${name}” was deleted.`,
  });

/** Raises alerts for what the search on screen finds from now on, by one click; a search without a condition finds all. */
export function alertButton(saved: readonly StoredSearch[], line: string, visitor: Visitor): Content {
  if (line === '' || !hasAccess(visitor, ALERTING)) return undefined;
  if (saved.some((search) => search.raisesAlerts && search.line === line)) {
    return html`<a class="button quiet" href="/alerts">Alerts on</a>`;
  }
  return actionButton('/saved-searches/alert', 'Alert me', {
    kind: 'quiet',
    done: 'New events that match this search raise alerts. The page Alerts lists them.',
    values: { name: line.slice(0, LONGEST_NAME), line },
  });
}

/** The events of the search on screen as files, and the search as a link that stays, as a command, and as SQL. */
export function exportMenu(exactly: Query, line: string, statement: string, mayExport: boolean): Content {
  const range = ['since', 'until'].flatMap((name) =>
    [exactly[name] ?? []].flat().map((time) => `--${name} ${time}`),
  );
  const quoted = line === '' ? [] : [`-- '${line.replaceAll("'", String.raw`'\''`)}'`];
  return html`
    <details class="picker forms">
      <summary class="button quiet">Export</summary>
      <div class="panel">
        <div class="row apart">
          ${mayExport && exportLinks('/api/v1/events/export', exactly)}
          <a href=${searchAddress(exactly)}>Permanent link</a>
        </div>
        ${copied('On the command line', ['xiq-sink events search', ...range, ...quoted].join(' '))}
        ${copied('As SQL', statement)}
      </div>
    </details>
  `;
}

const copied = (title: string, text: string): Content => html`
  <div class="row apart">
    <h3>${title}</h3>
    <button class="quiet" type="button" data-copy=${text} aria-label=${`Copy: ${title}`}>Copy</button>
  </div>
  <pre tabindex="0" role="group" aria-label=${title}>${text}</pre>
`;
