import { MESSAGE_TYPES } from '../../domain.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { eventAddress } from '../addresses.ts';
import type { Problems, Written } from '../events/asked-query.ts';
import { GENERAL_COLUMNS } from '../events/event-table.ts';
import type { PageOfEvents } from '../events/page-of-events.ts';
import { pagingLinks } from '../events/paging-links.ts';
import { rangeFields, rangeLinks } from '../events/range-fields.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';

/** The form above a timeline: its range and its types. `subject` is the parameter that says whose it is. */
export function timelineForm(path: string, subject: string, written: Written, problems: Problems): Content {
  const types = new Set([written['type'] ?? []].flat());
  return html`
    <form method="get" action=${path} aria-label="Range and types">
      <input type="hidden" name=${subject} value=${written[subject]} />
      <div class="fields">
        ${rangeFields(written, problems)}
        <div class="field">
          <label for="field-type">Type</label>
          <select id="field-type" name="type">
            <option value="">all</option>
            ${MESSAGE_TYPES.map(
              (type) => html`<option value=${type} selected=${types.has(type)}>${type}</option>`,
            )}
          </select>
          ${problems.has('type') && html`<p class="problem">Type ${problems.get('type')}.</p>`}
        </div>
        <div class="field"><button>Show</button></div>
      </div>
    </form>
    ${rangeLinks(path, written)}
  `;
}

const COLUMNS: readonly Column<StoredEvent>[] = [
  {
    heading: 'Time (UTC)',
    cell: (event) => html`
      <a href=${eventAddress(event)}>
        <time datetime=${event.occurredAt}>${event.occurredAt.slice(11, 19)}</time>
      </a>
    `,
  },
  ...GENERAL_COLUMNS,
];

/** Events by day, newest first. */
export function timelineOf(path: string, written: Written, page: PageOfEvents): Content {
  if (page.events.length === 0) {
    return html`<p class="empty">No events in this range: take a longer one, or all types.</p>`;
  }
  const byDay = Map.groupBy(page.events, ({ occurredAt }) => occurredAt.slice(0, 10));
  return [
    [...byDay].map(
      ([day, events]) => html`
        <section class="day">
          <h3>${day}</h3>
          ${tableOf(`Events of ${day}, newest first`, COLUMNS, events)}
        </section>
      `,
    ),
    pagingLinks(path, written, page),
  ];
}
