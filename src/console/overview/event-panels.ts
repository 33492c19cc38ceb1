import { formatCount, formatDuration } from '../../units.ts';
import { html } from '../html/html.ts';
import type { Content } from '../html/html.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { badge } from '../html/values.ts';
import { RANGE_NAMES } from './arrivals.ts';
import type { Arrived, Conservation, Overview, Silence } from './overview-schemas.ts';
import { facts, partOf, sinceOf } from './part.ts';

/** Whether what was acknowledged is there, and what waits in quarantine for a decision. */
export function conservationPanel(overview: Overview): Content {
  return html`
    <h2>Conservation</h2>
    ${partOf(overview, 'conservation', overview.conservation, describeSums)}
    ${partOf(
      overview,
      'quarantine',
      overview.quarantine,
      ({ open_count: open, is_more: isMore, oldest_received_at: oldest }) =>
        facts([
          [
            'open in quarantine',
            open === 0 ? 'nothing' : html`<a href="/quarantine">${moreThan(open, isMore)}</a>`,
          ],
          ...(oldest === null ? [] : [['the oldest of', sinceOf(overview, oldest)] as const]),
        ]),
    )}
  `;
}

function describeSums({ adds_up: addsUp, items }: Conservation): Content {
  const total = (count: 'expected' | 'events' | 'duplicates' | 'quarantined' | 'deliveries') =>
    formatCount(items.reduce((sum, item) => sum + item[count], 0));
  const wrong = items.filter((item) => !item.adds_up);
  return html`
    <p>${addsUp ? badge('good', 'adds up') : badge('bad', 'does not add up')}</p>
    ${wrong.map(
      ({ source, message_type: type, unbalanced }) => html`
        <p class="note bad">
          ${source} ${type}: ${formatCount(unbalanced)} deliveries have records that are neither stored nor
          in${' '}
          <a href="/quarantine">quarantine</a>.
        </p>
      `,
    )}
    ${facts([
      ['acknowledged', `${total('expected')} in ${total('deliveries')} deliveries`],
      ['stored', total('events')],
      ['stored before', total('duplicates')],
      ['to quarantine', total('quarantined')],
    ])}
  `;
}

type Destination = NonNullable<Overview['destinations']>[number];

const DESTINATION_STATES = {
  running: badge('good', 'running'),
  paused: badge('warn', 'paused'),
  refused: badge('bad', 'refused'),
};

/** How far behind each destination is. */
export function destinationsPanel(overview: Overview): Content {
  const { at, destinations } = overview;
  const columns: Column<Destination>[] = [
    { heading: 'Destination', cell: ({ name }) => html`<a href="/destinations">${name}</a>` },
    { heading: 'State', cell: ({ state }) => DESTINATION_STATES[state] },
    {
      heading: 'Behind by',
      kind: 'number',
      cell: (line) => `${moreThan(line.behind_count, line.is_more)} events`,
    },
    { heading: 'The oldest for', cell: (line) => waitOf(at, line.behind_since) },
    { heading: 'Rejected', kind: 'number', cell: (line) => formatCount(line.rejected_count) },
    { heading: 'Last sent (UTC)', cell: (line) => sinceOf(overview, line.last_sent_at) },
    { heading: 'Last error', kind: 'wrap', cell: (line) => line.last_error },
  ];
  return html`
    <h2>Destinations</h2>
    ${partOf(overview, 'destinations', destinations, (lines) =>
      lines.length === 0
        ? html`<p class="dim">
            Nothing is forwarded. Set <code>FORWARD_TO</code> to send every event to a SIEM.
          </p>`
        : tableOf('Destinations and how far behind they are', columns, lines),
    )}
  `;
}

function waitOf(at: string, since: string | null): Content {
  if (since === null) return html`<span class="dim">none waits</span>`;
  return formatDuration(Math.max(0, (Date.parse(at) - Date.parse(since)) / 1000));
}

const moreThan = (count: number, isMore: boolean) => `${isMore ? 'more than ' : ''}${formatCount(count)}`;

/** What arrived in the last hour, day and week. */
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
      tableOf('Events that arrived in the last hour, day and week', columns, arrived),
    )}
  `;
}

const SILENCE_STATES = {
  usual: badge('good', 'usual'),
  unusual: badge('bad', 'unusual'),
  unknown: badge('plain', 'unknown'),
  never: badge('plain', 'never'),
};

/** The last arrival of each type, and how unusual its silence is. */
export function silencesPanel(overview: Overview): Content {
  const { silences, sources } = overview;
  const columns: Column<Silence>[] = [
    ...(sources.length > 1 ? [{ heading: 'Source', cell: ({ source }: Silence) => source }] : []),
    { heading: 'Type', cell: (line) => line.message_type },
    { heading: 'Last arrival (UTC)', cell: (line) => sinceOf(overview, line.last_received_at) },
    { heading: 'Silence', cell: ({ state }) => SILENCE_STATES[state] },
    { heading: 'What is usual', kind: 'wrap', cell: ({ sentence }) => sentence },
  ];
  return html`
    <h2>Silence</h2>
    ${partOf(overview, 'silences', silences, (lines) =>
      lines.length === 0
        ? html`<p class="dim">Nothing has arrived that could fall silent.</p>`
        : tableOf('The last arrival of each message type, and whether its silence is usual', columns, lines),
    )}
  `;
}
