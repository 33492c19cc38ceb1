import { accessPointIn, sentenceOfEvent, titleOfEvent } from '../../events/event-words.ts';
import { viewEvent, type StoredEvent } from '../../events/stored-event.ts';
import { formatCount } from '../../lib/text/units.ts';
import { accessPointAddress, clientAddress, eventAddress, userAddress } from '../addresses.ts';
import { html, type Content } from '../html/html.ts';
import { timeOf } from '../html/elements.ts';
import { factsOf } from '../browser/shared/facts.ts';
import { tableOf, type Column } from '../browser/shared/table.ts';

/** A column of the timeline that is left out of the rows if it says the same in all. */
interface FactColumn {
  readonly heading: string;
  readonly valueOf: (event: StoredEvent) => string | null;
  readonly cell: (event: StoredEvent) => Content;
}

/** A column whose cell is the value itself, which leads to its page if it has one. */
const factColumn = (
  heading: string,
  valueOf: FactColumn['valueOf'],
  addressOf?: (value: string) => string,
): FactColumn => ({
  heading,
  valueOf,
  cell(event) {
    const value = valueOf(event);
    return value === null || addressOf === undefined ? value : html`<a href=${addressOf(value)}>${value}</a>`;
  },
});

const FACTS: readonly FactColumn[] = [
  factColumn('User', (event) => viewEvent(event).user, userAddress),
  factColumn('Client', (event) => viewEvent(event).clientMac, clientAddress),
  {
    heading: 'Access point',
    // An access point that was renamed or moved has another name in each event.
    valueOf: (event) => accessPointIn(event) ?? viewEvent(event).apMac,
    cell(event) {
      const { apMac } = viewEvent(event);
      return (
        apMac !== null &&
        html`<a href=${accessPointAddress(apMac)} title=${apMac}>${accessPointIn(event) ?? apMac}</a>`
      );
    },
  },
  factColumn('SSID', ({ columns }) => (typeof columns['ssid'] === 'string' ? columns['ssid'] : null)),
  factColumn('Source', ({ source }) => source),
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
  const columns: readonly Column<Burst<StoredEvent>>[] = [
    { heading: { time: 'Time' }, kind: 'nowrap', isPlain: true, cell: ([event]) => linkTo(event) },
    { heading: 'What happened', kind: 'wrap', isPlain: true, cell: sentenceCell },
    ...varying.map(({ heading, cell }): Column<Burst<StoredEvent>> => ({
      heading,
      kind: 'nowrap',
      cell: ([event]) => cell(event),
    })),
  ];
  return html`
    ${common.length > 0 && events.length > 1 && factsOf(common, 'common')}
    ${tableOf(caption, columns, bursts)}
  `;
}

const linkTo = (event: StoredEvent) => html`<a href=${eventAddress(event)}>${timeOf(event.occurredAt)}</a>`;

const saysOf = (event: StoredEvent) =>
  [event.messageType, titleOfEvent(event), sentenceOfEvent(event), event.source].join('\n');

function sentenceCell(burst: Burst<StoredEvent>): Content {
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
        ${burst.map((event) => html`<li>${linkTo(event)}</li>`)}
      </ul>
    </details>
  `;
}

/** Events that say the same, one soon after the other, in the order of a list. */
export type Burst<Event> = readonly [Event, ...Event[]];

type Timed = Pick<StoredEvent, 'occurredAt'>;

/** Two equal events with a longer time between them are not of one burst. Access points report clients every 10 minutes or sooner. */
export const BURST_GAP_MS = 15 * 60_000;

/** Folds neighbours of a list, in order of time either way, for which `saysOf` has the same text. Each event stays in its place. */
export function foldBursts<Event extends Timed>(
  events: readonly Event[],
  saysOf: (event: Event) => string,
): readonly Burst<Event>[] {
  const bursts: [Event, ...Event[]][] = [];
  let last: Event | undefined;
  for (const event of events) {
    const burst = bursts.at(-1);
    if (burst !== undefined && last !== undefined && saysOf(last) === saysOf(event) && isSoon(last, event)) {
      burst.push(event);
    } else bursts.push([event]);
    last = event;
  }
  return bursts;
}

const isSoon = (one: Timed, other: Timed) =>
  Math.abs(Date.parse(one.occurredAt) - Date.parse(other.occurredAt)) <= BURST_GAP_MS;
