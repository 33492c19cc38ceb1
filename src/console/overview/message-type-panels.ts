import { badge } from '../html/badge.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { numberOf } from '../html/number.ts';
import { tableOf } from '../html/table.ts';
import type { Column } from '../html/table.ts';
import { RANGE_NAMES } from './arrival-ranges.ts';
import type { Arrived, Overview, Silence } from './overview-schemas.ts';
import { partOf, sinceOf } from './part.ts';

/** What arrived in the last hour, day and week. */
export function arrivedPanel(overview: Overview): Content {
  const columns: Column<Arrived>[] = [
    { heading: 'Type', cell: (line) => line.message_type },
    ...RANGE_NAMES.map((range): Column<Arrived> => ({
      heading: `Last ${range}`,
      kind: 'number',
      cell: (line) => numberOf(line[range].events),
    })),
  ];
  return html`
    <h2>Events by message type</h2>
    ${partOf(overview, 'arrivals', overview.arrived, (arrived) =>
      tableOf('Events that arrived in the last hour, day and week', columns, arrived),
    )}
  `;
}

const STATES = {
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
    { heading: 'Silence', cell: ({ state }) => STATES[state] },
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
