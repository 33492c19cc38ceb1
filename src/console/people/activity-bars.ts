import type { StoredEvent } from '../../store/stored-event.ts';
import { countOf } from '../../units.ts';
import { html, type Content } from '../html/html.ts';
import { sessionsOf, staysOf, type Interval, type Session, type Sighting } from './intervals.ts';
import type { WholeRange } from './people-schemas.ts';
import { timeBars, type Lane } from './time-bars.ts';

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
    text: [user, ssid, apMac].filter(Boolean).join(' · '),
  }));
  return html`<h2>Sessions</h2>
    ${timeBars('Sessions over time', range, lanes)}`;
}

const lanesOf = <One extends Interval>(
  all: readonly One[],
  laneOf: (one: One) => string,
  barOf: (one: One, label: string) => Lane['bars'][number],
): readonly Lane[] =>
  [...Map.groupBy(all, laneOf)]
    .slice(0, MOST_LANES)
    .map(([label, ofLane]) => ({ label, bars: ofLane.map((one) => barOf(one, label)) }));

/** Which access point received a client best, as bars on a time axis, a lane for each access point. */
export function roamingBars(
  sightings: readonly Sighting[],
  range: WholeRange,
  names: ReadonlyMap<string, string>,
): Content {
  const stays = staysOf(sightings);
  if (stays.length === 0) return undefined;
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
