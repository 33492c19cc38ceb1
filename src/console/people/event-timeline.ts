import type { VNode } from 'preact';
import { accessPointIn, sentenceOfEvent, titleOfEvent } from '../../event-words.ts';
import { viewEvent, type StoredEvent } from '../../store/stored-event.ts';
import { formatCount } from '../../units.ts';
import { eventAddress } from '../addresses.ts';
import { accessPointCell, cellOf } from '../events/event-table.ts';
import { html, type Content } from '../html/html.ts';
import { timeOf } from '../html/elements.ts';
import { factsOf } from '../browser/facts.js';
import { tableOf, type Column } from '../browser/table.js';
import { foldBursts, type Burst } from './bursts.ts';

/** A column of the timeline that is left out of the rows if it says the same in all. */
interface FactColumn {
  readonly heading: string;
  readonly valueOf: (event: StoredEvent) => string | null;
  readonly cell: (event: StoredEvent) => Content;
}

/** A column whose cell is the value itself, as the column of that name shows it. */
const factColumn = (heading: string, column: string, valueOf: FactColumn['valueOf']): FactColumn => ({
  heading,
  valueOf,
  cell: (event) => cellOf(column, valueOf(event)),
});

const FACTS: readonly FactColumn[] = [
  factColumn('User', 'username', (event) => viewEvent(event).user),
  factColumn('Client', 'client_mac', (event) => viewEvent(event).clientMac),
  {
    heading: 'Access point',
    // An access point that was renamed or moved has another name in each event.
    valueOf: (event) => accessPointIn(event) ?? viewEvent(event).apMac,
    cell: accessPointCell,
  },
  factColumn('SSID', 'ssid', ({ columns }) => (typeof columns['ssid'] === 'string' ? columns['ssid'] : null)),
  factColumn('Source', 'source', ({ source }) => source),
];

/** The fewest equal events that are folded: two lines are read as fast as one. */
const FEWEST = 3;

/** Events, newest first: what all have in common above the list, and bursts in one line that opens. */
export function eventTimeline(caption: string, events: readonly StoredEvent[]): Content {
  const varying = FACTS.filter(({ valueOf }) => new Set(events.map(valueOf)).size > 1);
  const [first] = events;
  const common = FACTS.flatMap((fact) => {
    if (first === undefined || varying.includes(fact) || fact.valueOf(first) === null) return [];
    return [[fact.heading, fact.cell(first)] as const];
  });
  const bursts = foldBursts(events, saysOf).flatMap((burst) =>
    burst.length < FEWEST ? burst.map((event): Burst<StoredEvent> => [event]) : [burst],
  );
  return html`
    ${common.length > 0 && events.length > 1 && factsOf(common, 'common')}
    ${tableOf(caption, [TIME, SENTENCE, ...varying.map(columnOf)], bursts)}
  `;
}

const TIME: Column<Burst<StoredEvent>> = {
  heading: { time: 'Time' },
  kind: 'nowrap',
  isPlain: true,
  cell: ([event]) => html`<a href=${eventAddress(event)}>${timeOf(event.occurredAt)}</a>`,
};

const SENTENCE: Column<Burst<StoredEvent>> = {
  heading: 'What happened',
  kind: 'wrap',
  isPlain: true,
  cell: sentenceCell,
};

const columnOf = ({ heading, cell }: FactColumn): Column<Burst<StoredEvent>> => ({
  heading,
  kind: 'nowrap',
  cell: ([event]) => cell(event),
});

/** Equal events say the same sentence of the same source. */
const saysOf = (event: StoredEvent) =>
  [event.messageType, titleOfEvent(event), sentenceOfEvent(event), event.source].join('\n');

function sentenceCell(burst: Burst<StoredEvent>): VNode {
  const [event] = burst;
  const { code } = viewEvent(event);
  const sentence = html`
    <span class=${`swatch ${event.family}`}></span> ${sentenceOfEvent(event)}
    ${code !== null && html` <span class="dim">${code}</span>`}
  `;
  if (burst.length === 1) return sentence;
  const oldest = burst.at(-1) ?? burst[0];
  return html`
    <details class="burst">
      <summary>
        ${sentence} <span class="badge plain">${formatCount(burst.length)} times</span>
        <span class="dim"> since ${timeOf(oldest.occurredAt)}</span>
      </summary>
      <ul class="plain">
        ${burst.map((event) => html`<li><a href=${eventAddress(event)}>${timeOf(event.occurredAt)}</a></li>`)}
      </ul>
    </details>
  `;
}
