import { titleOfType } from '../../events/event-words.ts';
import { formatCount } from '../../lib/text/units.ts';
import { searchAddress, userAddress, type Query } from '../addresses.ts';
import { html, type Content } from '../html/html.ts';
import { numberColumn, tableOf, type Column } from '../browser/shared/table.ts';
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

export const eventsPanel = (activity: Activity): Content => html`
  <h2>Events</h2>
  <p class="figure">${figureOf(activity, activity.events)}</p>
  ${figureList(
    activity,
    activity.types.map((one) => ({ ...one, name: titleOfType(one.name) })),
  )}
`;

const figureList = (range: Range, figures: readonly NamedFigure[]): Content =>
  figures.length > 0 &&
  html`
    <ul class="lines">
      ${figures.map((one) => html`<li><span>${one.name}</span> ${figureOf(range, one)}</li>`)}
    </ul>
  `;

type Administrator = NonNullable<Activity['administrators']>[number];

export function administratorsPanel(activity: Activity): Content {
  const { administrators, keys_created: keys } = activity;
  const number = (heading: string, of: (one: Administrator) => Figure): Column<Administrator> =>
    numberColumn(heading, (one) => figureOf(activity, of(one)));
  return html`
    <h2>Administrators</h2>
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
              number('Logins', ({ logins }) => logins),
              number('Changes', ({ changes }) => changes),
              number('Keys created', ({ keys_created: created }) => created),
              number('Keys deleted', ({ keys_deleted: deleted }) => deleted),
            ],
            administrators,
            'No audit events in this range.',
          )
    }
    <p>Private keys created by anyone: ${figureOf(activity, keys)}</p>
  `;
}

export function failedLoginsPanel(activity: Activity): Content {
  const { ssids, users, ...all } = activity.failed_logins;
  return html`
    <h2>Failed network logins</h2>
    <p class="figure">${figureOf(activity, all)}</p>
    ${figureList(activity, [...ssids, ...users])}
  `;
}

export const alertsPanel = (activity: Activity): Content => html`
  <h2>Alerts</h2>
  ${
    activity.alerts.length === 0
      ? html`<p class="dim">No alerts in this range.</p>`
      : figureList(activity, activity.alerts)
  }
`;
