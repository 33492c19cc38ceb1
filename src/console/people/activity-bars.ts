import type { StoredEvent } from '../../store/stored-event.ts';
import { countOf } from '../../units.ts';
import { type Content, html } from '../html/html.ts';
import { sessionsOf, staysOf, type Session, type Sighting } from './intervals.ts';
import type { WholeRange } from './people-schemas.ts';
import { timeBars } from './time-bars.ts';

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
  const lanes = [...Map.groupBy(sessions, laneOf)].slice(0, MOST_LANES).map(([label, all]) => ({
    label,
    bars: all.map(({ from, to, hasEnded, user, ssid, apMac }) => ({
      from,
      to: hasEnded ? to : range.until,
      isOpen: !hasEnded,
      text: [user, ssid, apMac].filter(Boolean).join(' · '),
    })),
  }));
  return html`<h2>Sessions</h2>
    ${timeBars('Sessions over time', range, lanes)}`;
}

/** Which access point received a client best, as bars on a time axis, a lane for each access point. */
export function roamingBars(
  sightings: readonly Sighting[],
  range: WholeRange,
  names: ReadonlyMap<string, string>,
): Content {
  const stays = staysOf(sightings);
  if (stays.length === 0) return undefined;
  const nameOf = (mac: string | null) => (mac === null ? '' : (names.get(mac) ?? mac));
  const lanes = [...Map.groupBy(stays, ({ apMac }) => nameOf(apMac))]
    .slice(0, MOST_LANES)
    .map(([label, all]) => ({
      label,
      bars: all.map(({ from, to, sightings: times }) => ({
        from,
        to,
        text: `${label}, seen ${countOf(times, 'time')}`,
      })),
    }));
  return html`<h2>Access points over time</h2>
    ${timeBars('Access points over time', range, lanes)}`;
}
