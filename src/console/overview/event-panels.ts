import { countOf, formatCount, formatDuration } from '../../units.ts';
import { destinationAddress } from '../addresses.ts';
import { html, type Content } from '../html/html.ts';
import { tableOf, type Column } from '../html/table.ts';
import { badge, factsOf } from '../html/values.ts';
import { RANGE_NAMES } from './arrivals.ts';
import type { Arrived, Conservation, Overview, Silence } from './overview-schemas.ts';
import { partOf, sinceOf } from './part.ts';

/** Whether every acknowledged record is accounted for, and the open items in quarantine. */
export function conservationPanel(overview: Overview): Content {
  return html`
    <h2>Conservation</h2>
    ${partOf(overview, 'conservation', overview.conservation, describeSums)}
    ${partOf(
      overview,
      'quarantine',
      overview.quarantine,
      ({ open_count: open, is_more: isMore, oldest_received_at: oldest }) =>
        factsOf([
          [
            'open in quarantine',
            open === 0 ? 'none' : html`<a href="/quarantine">${moreThan(open, isMore)}</a>`,
          ],
          oldest !== null && ['oldest', sinceOf(overview, oldest)],
        ]),
    )}
  `;
}

function describeSums({ adds_up: addsUp, items }: Conservation): Content {
  type Count = 'expected' | 'events' | 'duplicates' | 'quarantined' | 'deliveries';
  const sum = (count: Count) => items.reduce((all, item) => all + item[count], 0);
  const total = (count: Count) => formatCount(sum(count));
  const wrong = items.filter((item) => !item.adds_up);
  return html`
    <p>${addsUp ? badge('good', 'adds up') : badge('bad', 'does not add up')}</p>
    ${wrong.map(
      ({ source, message_type: type, ...item }) => html`
        <p class="note bad">${source} ${type}: ${differencesOf(item)}</p>
      `,
    )}
    ${factsOf([
      ['acknowledged', `${total('expected')} in ${countOf(sum('deliveries'), 'delivery', 'deliveries')}`],
      ['stored', total('events')],
      ['duplicates', total('duplicates')],
      ['quarantined', total('quarantined')],
    ])}
  `;
}

/** What does not add up. */
function differencesOf({
  unbalanced,
  missing,
  altered,
}: Pick<Conservation['items'][number], 'unbalanced' | 'missing' | 'altered'>): Content {
  return [
    unbalanced > 0 &&
      html`${countOf(unbalanced, 'delivery', 'deliveries')} with records that are neither stored nor in${' '}
        <a href="/quarantine">quarantine</a>. `,
    missing > 0 && html`${countOf(missing, 'event')} deleted without a reason on record. `,
    altered > 0 && html`${countOf(altered, 'event')} changed since they were stored. `,
    missing + altered > 0
      ? html`<code>xiq-sink verify</code> names them.`
      : unbalanced === 0 &&
        html`rows of deliveries or quarantine are not what was stored: run <code>xiq-sink doctor</code>.`,
  ];
}

type Destination = NonNullable<Overview['destinations']>[number];

const DESTINATION_STATES = {
  running: badge('good', 'running'),
  paused: badge('warn', 'paused'),
  refused: badge('bad', 'refused'),
};

/** The backlog of each destination. */
export function destinationsPanel(overview: Overview): Content {
  const { at, destinations } = overview;
  const columns: Column<Destination>[] = [
    { heading: 'Destination', cell: ({ name }) => html`<a href=${destinationAddress(name)}>${name}</a>` },
    { heading: 'State', cell: ({ state }) => DESTINATION_STATES[state] },
    {
      heading: 'Backlog',
      kind: 'number',
      cell: (line) => `${formatCount(line.behind_count)} ${line.behind_count === 1 ? 'event' : 'events'}`,
    },
    { heading: 'Lag', cell: (line) => lagOf(at, line.behind_since) },
    { heading: 'Rejected', kind: 'number', cell: (line) => formatCount(line.rejected_count) },
    { heading: 'Last sent (UTC)', cell: (line) => sinceOf(overview, line.last_sent_at) },
    { heading: 'Last error', kind: 'wrap', cell: (line) => line.last_error },
  ];
  return html`
    <h2>Destinations</h2>
    ${partOf(overview, 'destinations', destinations, (lines) =>
      lines.length === 0
        ? html`<p class="dim">
            No destinations are configured. Set <code>FORWARD_TO</code> to forward every event to a SIEM.
          </p>`
        : tableOf('Destinations and their backlog', columns, lines),
    )}
  `;
}

function lagOf(at: string, since: string | null): Content {
  if (since === null) return html`<span class="dim">none</span>`;
  return formatDuration(Math.max(0, (Date.parse(at) - Date.parse(since)) / 1000));
}

const moreThan = (count: number, isMore: boolean) => `${isMore ? 'over ' : ''}${formatCount(count)}`;

/** The events received in the last hour, day and week. */
export function arrivedPanel(overview: Overview): Content {
  const columns: Column<Arrived>[] = [
    { heading: 'Type', cell: (line) => line.message_type },
    ...RANGE_NAMES.map((range): Column<Arrived> => ({
      heading: `Last ${range}`,
      kind: 'number',
      cell: (line) => formatCount(line[range].events),
    })),
  ];
  return html`
    <h2>Events by message type</h2>
    ${partOf(overview, 'arrivals', overview.arrived, (arrived) =>
      tableOf('Events received in the last hour, day and week', columns, arrived),
    )}
  `;
}

const SILENCE_STATES = {
  usual: badge('good', 'usual'),
  unusual: badge('bad', 'unusual'),
  unknown: badge('plain', 'unknown'),
  never: badge('plain', 'never'),
};

/** The last arrival of each message type, and whether its silence is unusual. */
export function silencesPanel(overview: Overview): Content {
  const { silences, sources } = overview;
  const columns: Column<Silence>[] = [
    ...(sources.length > 1 ? [{ heading: 'Source', cell: ({ source }: Silence) => source }] : []),
    { heading: 'Type', cell: (line) => line.message_type },
    { heading: 'Last received (UTC)', cell: (line) => sinceOf(overview, line.last_received_at) },
    { heading: 'Silence', cell: ({ state }) => SILENCE_STATES[state] },
    { heading: 'Explanation', kind: 'wrap', cell: ({ sentence }) => sentence },
  ];
  return html`
    <h2>Silence</h2>
    ${partOf(overview, 'silences', silences, (lines) =>
      lines.length === 0
        ? html`<p class="dim">No message type has been received yet.</p>`
        : tableOf(
            'When each message type was last received, and whether its silence is usual',
            columns,
            lines,
          ),
    )}
  `;
}
