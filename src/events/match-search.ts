import { fold, foldParts } from '../lib/text/fold.ts';
import { isJsonObject } from './exact-json.ts';
import { kindsNamed, outcomeOf, recordKind } from './record-kind.ts';
import { typesNamed, type EventTerm, type SearchKey, type SearchValue } from './search-query.ts';
import { viewEvent, type StoredEvent } from './stored-event.ts';

/**
 * Creates the test whether an event matches all of these terms: those are the events that the search finds. `time_of_day` is
 * that in the zone.
 */
export function createSearchMatch(
  terms: readonly EventTerm[],
  zone = 'UTC',
): (event: StoredEvent) => boolean {
  const tests = terms.map((term): Test => {
    const { key } = term;
    if (key === 'column') {
      const read = createReader(term.column, zone);
      const patterns = term.patterns.map(wildcard);
      return (event) => {
        const value = read(event);
        return value !== null && patterns.some((matches) => matches(value));
      };
    }
    const alternatives = term.values.map((value) => testOf(key, value));
    return (event) => alternatives.some((matches) => matches(event)) !== term.isExcluded;
  });
  return (event) => tests.every((matches) => matches(event));
}

type Test = (event: StoredEvent) => boolean;

function testOf(key: SearchKey, value: SearchValue): Test {
  const { text, isPrefix, isExact = false } = value;
  const matches = textTest(value);
  const isPerson = textTest(value, fold);
  switch (key) {
    case 'type': {
      const types = typesNamed(text, isPrefix);
      return ({ messageType }) => types.includes(messageType);
    }
    case 'user':
      return (event) => isPerson(viewEvent(event).user);
    case 'client':
      return (event) => hasStations(event) && matches(viewEvent(event).clientMac);
    case 'ap':
      return (event) => hasStations(event) && matches(viewEvent(event).apMac);
    case 'mac':
      return (event) => {
        const { clientMac, apMac } = viewEvent(event);
        return hasStations(event) && (matches(clientMac) || matches(apMac));
      };
    case 'ssid':
      return (event) => hasStations(event) && matches(firstCharacters(event.columns['ssid']));
    case 'device': {
      const isNamed = isExact ? (name: string) => name === text : matches;
      return ({ family, columns }) =>
        DEVICE_COLUMNS[family]
          .filter((column) => isExact || column !== 'device_ids')
          .flatMap((column) => columns[column] ?? [])
          .some(isNamed);
    }
    case 'code':
      return ({ columns }) => isSameNumber(columns['code'], text);
    case 'org':
      return ({ orgId }) => isSameNumber(orgId, text);
    case 'source':
      return ({ source }) => matches(source);
    case 'origin':
      return ({ origin }) => origin === text;
    case 'action': {
      const kinds = kindsNamed(text, isPrefix);
      return (event) => kinds.includes(recordKind(event));
    }
    case 'outcome':
      return (event) => outcomeOf(recordKind(event), event) === text.toLowerCase();
    case 'text':
      return containsTest(text);
  }
}

function textTest({ text, isPrefix }: SearchValue, lower = (value: string) => value.toLowerCase()) {
  const sought = lower(text);
  return (value: string | null): boolean =>
    value !== null && (isPrefix ? lower(value).startsWith(sought) : lower(value) === sought);
}

const hasStations = ({ family }: StoredEvent) => family === 'location' || family === 'log';

/** The characters of a name of a network that the index has. */
const firstCharacters = (value: StoredEvent['columns'][string] | undefined) =>
  typeof value === 'string' ? Array.from(value).slice(0, 64).join('') : null;

const DEVICE_COLUMNS: Readonly<Record<StoredEvent['family'], readonly string[]>> = {
  audit: ['host_names', 'device_ids'],
  location: [],
  log: ['device_serial_number'],
  alerts: ['alert_source_name', 'alert_source_id'],
  other: [],
};

const isSameNumber = (value: unknown, text: string) =>
  typeof value === 'string' && BigInt(value) === BigInt(text);

/** As the store compares: in an ASCII text, only ASCII letters have a lower case. */
function containsTest(text: string): Test {
  const isAscii = Buffer.byteLength(text) === text.length;
  const lower = isAscii
    ? (whole: string) => whole.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
    : (whole: string) => whole.toLowerCase();
  const sought = lower(text);
  return ({ payload }) => lower(jsonbText(payload)).includes(sought);
}

/** JSON as Postgres prints it: blanks after colons and commas, and short member names first. */
function jsonbText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(jsonbText).join(', ')}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members = Object.entries(value)
    .map(([name, member]) => ({
      name: Buffer.from(name),
      text: `${JSON.stringify(name)}: ${jsonbText(member)}`,
    }))
    .toSorted((one, other) => one.name.length - other.name.length || Buffer.compare(one.name, other.name));
  return `{${members.map(({ text }) => text).join(', ')}}`;
}

/**
 * Creates the test whether a text matches a pattern, in which `*` matches any characters, of folded texts. It searches
 * the parts between stars one after the other, so that no pattern is slow.
 */
export function wildcard(pattern: string): (text: string) => boolean {
  const [first = '', ...rest] = foldParts(pattern);
  const last = rest.pop();
  if (last === undefined) return (text) => fold(text) === first;
  return (text) => {
    const lower = fold(text);
    if (!lower.startsWith(first) || !lower.endsWith(last)) return false;
    let position = first.length;
    for (const part of rest) {
      const found = lower.indexOf(part, position);
      if (found === -1) return false;
      position = found + part.length;
    }
    return position <= lower.length - last.length;
  };
}

/** Creates the reader of a column as terms and rules name it; null if the event has no value. */
export function createReader(column: string, zone: string): (event: StoredEvent) => string | null {
  switch (column) {
    case 'message_type':
      return ({ messageType }) => messageType;
    case 'user_name':
      return (event) => viewEvent(event).user;
    case 'description':
      return (event) => viewEvent(event).description;
    case 'time_of_day': {
      const localTime = createLocalTime(zone);
      return ({ occurredAt }) => {
        const { day, minute } = localTime(occurredAt);
        const isNight = minute < 6 * 60 || minute >= 22 * 60;
        return `${day === 'sat' || day === 'sun' ? 'weekend' : 'weekday'} ${isNight ? 'night' : 'day'}`;
      };
    }
    default:
      return ({ columns }) => {
        const value = columns[column] ?? null;
        return value === null || typeof value === 'string' ? value : value.join(' ');
      };
  }
}

/** Day and minute of a time in a zone. Formatting takes 3 us, so each quarter of an hour is formatted once. */
export function createLocalTime(
  zone: string,
): (time: string) => { readonly day: string; readonly minute: number } {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  let known = { quarter: Number.NaN, day: '', minute: 0 };
  return (time) => {
    const ms = Date.parse(time);
    const quarter = Math.floor(ms / QUARTER_MS);
    if (quarter !== known.quarter) {
      const parts = new Map(
        format.formatToParts(quarter * QUARTER_MS).map(({ type, value }) => [type, value]),
      );
      const minute = Number(parts.get('hour')) * 60 + Number(parts.get('minute'));
      known = { quarter, day: (parts.get('weekday') ?? '').toLowerCase(), minute };
    }
    return { day: known.day, minute: known.minute + Math.floor((ms - quarter * QUARTER_MS) / 60_000) };
  };
}

/** Offsets of time zones are multiples of it. */
const QUARTER_MS = 900_000;
