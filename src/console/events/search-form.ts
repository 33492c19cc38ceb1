import type { VNode } from 'preact';
import { fieldOf } from '../html/field.ts';
import { html } from '../html/html.ts';
import { typesField } from '../html/types-field.ts';
import { textOf } from './asked-query.ts';
import type { Problems, Written } from './asked-query.ts';
import { rangeFields } from './range-fields.ts';

/** Those that are asked most. */
const FIELDS = [
  ['user', 'User'],
  ['mac', 'MAC address', 'client or access point'],
  ['text', 'Text', 'any part of the record'],
] as const;

const FURTHER_FIELDS = [
  ['code', 'Code', '10001'],
  ['ap', 'Access point', 'MAC address'],
  ['device', 'Device', 'serial number, host name, id'],
  ['org', 'Organization', 'number'],
  ['source', 'Source'],
] as const;

/** The form of a search, filled in with what was asked, right or wrong. */
export function searchForm(written: Written, problems: Problems): VNode {
  const field = ([name, label, placeholder]: readonly [string, string, string?]) =>
    fieldOf({ name, label, value: textOf(written, name), placeholder, problem: problems.get(name) });
  const isFurther = FURTHER_FIELDS.some(([name]) => written[name] !== undefined);
  const types = [written['type'] ?? []].flat();
  return html`
    <form method="get" action="/events" role="search" aria-label="Events">
      <div class="fields">${rangeFields(written, problems)} ${FIELDS.map(field)}</div>
      <details open=${isFurther || types.length > 0}>
        <summary>More conditions</summary>
        <div class="fields">${FURTHER_FIELDS.map(field)}</div>
        ${typesField(types, problems.get('type'))}
      </details>
      <div class="row">
        <button>Search</button>
        <a class="button quiet" href="/events">Start over</a>
      </div>
    </form>
  `;
}
