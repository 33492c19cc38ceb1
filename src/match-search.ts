import { isJsonObject } from './exact-json.ts';
import { outcomeOf, recordKind } from './record-kind.ts';
import { kindsNamed, typesNamed, type SearchKey, type SearchTerm, type SearchValue } from './search-query.ts';
import { viewEvent, type StoredEvent } from './store/stored-event.ts';

/** Creates the test whether an event matches all terms of a search: those are the events that the search finds. */
export function createSearchMatch(terms: readonly SearchTerm[]): (event: StoredEvent) => boolean {
  const tests = terms.map(({ key, values, isExcluded }) => {
    const alternatives = values.map((value) => testOf(key, value));
    return (event: StoredEvent) => alternatives.some((matches) => matches(event)) !== isExcluded;
  });
  return (event) => tests.every((matches) => matches(event));
}

type Test = (event: StoredEvent) => boolean;

function testOf(key: SearchKey, value: SearchValue): Test {
  const { text, isPrefix } = value;
  const matches = textTest(value);
  switch (key) {
    case 'type': {
      const types = typesNamed(text, isPrefix);
      return ({ messageType }) => types.includes(messageType);
    }
    case 'user':
      return (event) => matches(viewEvent(event).user);
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
    case 'device':
      return ({ family, columns }) =>
        (DEVICE_COLUMNS[family] ?? []).flatMap((column) => columns[column] ?? []).some(matches);
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

function textTest({ text, isPrefix }: SearchValue): (value: string | null) => boolean {
  const lower = text.toLowerCase();
  return (value) => {
    if (value === null) return false;
    return isPrefix ? value.toLowerCase().startsWith(lower) : value.toLowerCase() === lower;
  };
}

const hasStations = ({ family }: StoredEvent) => family === 'location' || family === 'log';

/** The characters of a name of a network that the index has. */
const firstCharacters = (value: StoredEvent['columns'][string] | undefined) =>
  typeof value === 'string' ? Array.from(value).slice(0, 64).join('') : null;

const DEVICE_COLUMNS: Partial<Record<StoredEvent['family'], readonly string[]>> = {
  audit: ['host_names'],
  log: ['device_serial_number'],
  alerts: ['alert_source_name', 'alert_source_id'],
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
