import { HOUR_MS } from '../../lib/clock.ts';
import { formatDuration, countOf } from '../../lib/text/units.ts';
import type { EventBar } from '../../store/events/event-histogram.ts';
import { localText } from '../browser/shared/local-time.ts';
import { html, type Content } from '../html/html.ts';
import { inZone } from '../html/time-zone.ts';
import { sessionsOf, type Interval, type Session, type Stay } from './intervals.ts';
import type { WholeRange } from '../../lib/text/parse-time.ts';
import type { StoredEvent } from '../../events/stored-event.ts';

interface Lane {
  readonly label: string;
  readonly bars: readonly Bar[];
}

interface Bar extends Interval {
  readonly text: string;
  readonly isOpen?: boolean;
  /** Its colour, if it is not the usual one. */
  readonly kind?: 'good' | 'warn' | undefined;
}

const LENGTH = 1000;
const TICKS = 5;

/** The shortest bar that can still be pointed at. */
const SHORTEST = 3;

/** Intervals as bars on a time axis, a lane each; pointing at a bar shows its times. */
const timeBars = (title: string, { since, until }: WholeRange, lanes: readonly Lane[]): Content =>
  inZone((zone) => {
    const length = Math.max(1, until.getTime() - since.getTime());
    const at = (time: Date) =>
      Math.round(Math.min(1, Math.max(0, (time.getTime() - since.getTime()) / length)) * LENGTH);
    const ticks = Array.from(
      { length: TICKS },
      (_, index) => new Date(since.getTime() + (index * length) / TICKS),
    );
    return html`
      <div class="panel bars" role="group" aria-label=${title}>
        ${lanes.map(
          ({ label, bars }) => html`
            <span class="lane">${label}</span>
            <svg
              viewBox=${`0 0 ${LENGTH} 1`}
              preserveAspectRatio="none"
              role="img"
              aria-label=${`${label}: ${bars.map((bar) => describe(bar, zone)).join('; ')}`}
            >
              ${bars.map((bar) => {
                const width = Math.max(SHORTEST, at(bar.to) - at(bar.from));
                return html`
                  <rect
                    class=${bar.kind}
                    x=${Math.min(at(bar.from), LENGTH - width)}
                    y="0"
                    width=${width}
                    height="1"
                  >
                    <title>${`${bar.text}\n${describe(bar, zone)}`}</title>
                  </rect>
                `;
              })}
            </svg>
          `,
        )}
        <div class="ticks" aria-hidden="true">
          ${ticks.map((tick) => html`<span>${localText(tick, zone).slice(5, 16)}</span>`)}
        </div>
      </div>
    `;
  });

function describe({ from, to, isOpen }: Bar, zone: string): string {
  const length = formatDuration((to.getTime() - from.getTime()) / 1000);
  return isOpen === true
    ? `${localText(from, zone)}, no end known`
    : `${localText(from, zone)} to ${localText(to, zone)} (${length})`;
}

/** More lanes than this are unreadable. */
const MOST_LANES = 12;

/** The sessions in a range as bars on a time axis, a lane for each name that `laneOf` gives. */
export function sessionBars(
  events: readonly StoredEvent[],
  range: WholeRange,
  laneOf: (session: Session) => string,
): Content {
  const sessions = sessionsOf(events);
  if (sessions.length === 0) return undefined;
  const lanes = lanesOf(sessions, laneOf, ({ from, to, hasEnded, user, ssid, apMac }) => ({
    from,
    to: hasEnded ? to : range.until,
    isOpen: !hasEnded,
    kind: hasEnded ? undefined : 'good',
    text: [user, ssid, apMac].filter(Boolean).join(' · '),
  }));
  return html`<h2>Sessions</h2>
    ${timeBars('Sessions over time', range, lanes)}`;
}

const lanesOf = <One extends Interval>(
  all: readonly One[],
  laneOf: (one: One) => string,
  barOf: (one: One, label: string) => Bar,
): readonly Lane[] =>
  [...Map.groupBy(all, laneOf)]
    .slice(0, MOST_LANES)
    .map(([label, ofLane]) => ({ label, bars: ofLane.map((one) => barOf(one, label)) }));

/** Which access point received a client best, as bars on a time axis, a lane for each access point. */
export function roamingBars(
  stays: readonly Stay[],
  range: WholeRange,
  names: ReadonlyMap<string, string>,
): Content {
  const nameOf = (mac: string | null) => (mac === null ? '' : (names.get(mac) ?? mac));
  const lanes = lanesOf(
    stays,
    ({ apMac }) => nameOf(apMac),
    ({ from, to, sightings: times }, label) => ({
      from,
      to,
      text: `${label}, seen ${countOf(times, 'time')}`,
    }),
  );
  return html`<h2>Access points over time</h2>
    ${timeBars('Access points over time', range, lanes)}`;
}

/** The times of an hour and more in which nothing was counted, as bars on a time axis; undefined if nothing was at all. */
export function silenceBars(counted: readonly EventBar[], { since, until }: WholeRange): Content {
  const heard = counted.flatMap(({ start, counts }, index) =>
    Object.keys(counts).length === 0 ? [] : [{ from: start, to: counted[index + 1]?.start ?? until }],
  );
  if (heard.length === 0) return undefined;
  const silences = [...heard, { from: until, to: until }]
    .map(({ from }, index) => ({ from: heard[index - 1]?.to ?? since, to: from }))
    .filter(({ from, to }) => to.getTime() - from.getTime() >= HOUR_MS);
  const lengths = silences.map(({ from, to }) => (to.getTime() - from.getTime()) / 1000);
  const bars = silences.map((silence): Bar => ({
    ...silence,
    kind: 'warn',
    text: 'No events from or about this access point',
    isOpen: silence.to === until,
  }));
  return html`<h2>Silence</h2>
    <p>
      ${
        silences.length === 0
          ? 'Never silent for an hour in the last 7 days.'
          : `Silent for an hour or more ${countOf(silences.length, 'time')} in the last 7 days: longest ${formatDuration(Math.max(...lengths))}, total ${formatDuration(lengths.reduce((sum, one) => sum + one, 0))}.`
      }${' '}Access
      points without clients are silent, too.
    </p>
    ${silences.length > 0 && timeBars('Silence over time', { since, until }, [{ label: 'Silent', bars }])}`;
}
