import { titleOfType } from '../../events/event-words.ts';
import { formatCount } from '../../lib/text/units.ts';
import { searchAddress, userAddress, type Query } from '../addresses.ts';
import { html, type Content } from '../html/html.ts';
import { numberColumn, tableOf } from '../browser/shared/table.ts';
import type { Activity, Figure, NamedFigure } from './overview-schemas.ts';

type Range = Pick<Activity, 'since' | 'until'>;

/** A number as a link to the search that lists exactly its events. */
function figureOf(range: Range, { q, count }: Figure): Content {
  if (count === 0) return html`<span class="dim">0</span>`;
  const text = count === null ? 'not counted' : formatCount(count);
  return html`<a href=${searchAddress({ q, ...queryOf(range) })}>${text}</a>`;
}

const queryOf = ({ since, until }: Range): Query => ({
  since: since.toISOString(),
  until: until.toISOString(),
});

/** More do not fit beside each other; the number in the heading leads to all of them. */
const MOST_LINES = 7;

const headOf = (range: Range, title: string, figure?: Figure): Content => html`
  <div class="row apart">
    <h2>${title}</h2>
    ${figure && html`<strong>${figureOf(range, figure)}</strong>`}
  </div>
`;

const figureList = (range: Range, figures: readonly NamedFigure[]): Content => html`
  <ul class="lines">
    ${figures
      .slice(0, MOST_LINES)
      .map((one) => html`<li><span title=${one.name}>${one.name}</span> ${figureOf(range, one)}</li>`)}
  </ul>
`;

export const eventsPanel = (activity: Activity): Content => [
  headOf(activity, 'Events', activity.events),
  figureList(
    activity,
    activity.types.map((one) => ({ ...one, name: titleOfType(one.name) })),
  ),
];

type Administrator = NonNullable<Activity['administrators']>[number];

export function administratorsPanel(activity: Activity): Content {
  const { administrators, keys_created: keys } = activity;
  const figure = (of: Figure) => figureOf(activity, of);
  return html`
    <div class="row apart">
      <h2>Administrators</h2>
      <span>${figure(keys)} keys created by anyone</span>
    </div>
    ${
      administrators === null
        ? html`<p class="dim">Counting takes too long. Choose a shorter range.</p>`
        : tableOf(
            'What administrators did',
            [
              {
                heading: 'Administrator',
                cell: ({ user }) => html`<a href=${userAddress(user, queryOf(activity))}>${user}</a>`,
              },
              numberColumn<Administrator>('Logins', ({ logins }) => figure(logins)),
              numberColumn<Administrator>('Changes', ({ changes }) => figure(changes)),
              numberColumn<Administrator>(
                'Keys',
                (one) => html`+${figure(one.keys_created)} −${figure(one.keys_deleted)}`,
              ),
            ],
            // The headings are a line, too.
            administrators.slice(0, MOST_LINES - 1),
            'No audit events in this range.',
          )
    }
  `;
}

export function failedLoginsPanel(activity: Activity): Content {
  const { ssids, users, ...all } = activity.failed_logins;
  return [headOf(activity, 'Failed logins', all), figureList(activity, [...ssids, ...users])];
}

export const alertsPanel = (activity: Activity): Content => [
  headOf(activity, 'Alerts'),
  activity.alerts.length === 0
    ? html`<p class="dim">No alerts in this range.</p>`
    : figureList(activity, activity.alerts),
];
