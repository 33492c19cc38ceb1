import { FAMILY_OF, type MessageType } from '../../src/events/domain.ts';

/**
 * Texts of records with all that JSON allows, always the same ones. They are spelled here and name their members here, so
 * that no change of the program, of its samples or of a library changes them.
 */

/** In each list, so many are usual. */
const USUAL = { numbers: 10, strings: 9, members: 37 };

const words = (text: string) => text.trim().split(/\s+/);

/** Usual numbers; then those whose digits a JavaScript number loses or prints differently. */
const NUMBERS = words(`
  0 7 -42 1234567 10001 172435467890101 37.4107 -121.94 0.1 1769846400123
  1.0 -0 -0.0 12.50 1e5 4.2E1 1E+400 1e-1000 1e1001 5e-324 0.0000001 0.30000000000000004 123456789012345.6
  1.2345678E7 -17e-1 9007199254740993 9223372036854775807 -9223372036854775808 18446744073709551616
`);

/** Usual contents of strings; then escapes, pairs and halves of surrogates, controls, and what looks like a number. */
const STRINGS = words(String.raw`
  admin@example.com ap-104 AA-BB-CC-00-11-22:Guest 10.1.2.3 fe80::1%eth0 77 2026-01-31T08:00:00.123Z
  2018-05-01T10:20:30.000+0000 0a1b2c3d4e5f
  {x} \"y\" :1.0, Zürich Z\u00fcrich 😀 \ud83d\ude00 \uD83D\uDE00 \/\b\f \n\r\t \u0001 \u001F \u0000 x\u0000y \ud800
  a\uDFFFb \ude00\ud83d \\u0000 \\ \" \\\\ud800 \\\ud800 [12345678901234567890] 12.0 true null
`).concat('', ' ', '\u2028\u2029\u007F', '\uFFFF\uFFFD');

/** Usual members, of which most fill a column; then others. None contains a backslash: see test/events/exact-json.test.ts. */
const MEMBERS = words(String.raw`
  ownerId owner_id orgId id record_id timeStamp timestamp time_stamp seenEpoch seenTime userId code category description
  userName username vhmName hostNames config deviceIds clientMac ap_mac ipv4 ipv6 rssi lat lng ssid x locationIdHierarchy
  status mac calledStationId acctStartTime acctInputOctets nasPort vhmId
  tel customer_id logId start __proto__ constructor toString rawJSON length toJSON 10 9 0 -1 4294967295 ü 😀 a\"b \u0000
  \ud800k k\u0001 UserName
`).concat('', 'a b', '\uFFFF');

const SPACES = ['', '', '', '', ' ', '\n', '\t ', '\r\n'];

const LISTS = ['observations', 'deviceObservers', 'device_observers'];

/** Numbers from 0 up to a bound, the same in every run: mulberry32. */
function createChance(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** The texts of any number of deliveries of a message type, each a JSON array of up to six records. One in ten is odd. */
export function* oddDeliveries(messageType: MessageType): Generator<string> {
  const chance = createChance(messageType.length * 1_000 + messageType.charCodeAt(0));
  let isOdd = false;
  const oneOf = (texts: readonly string[], usual = texts.length) =>
    texts[chance(isOdd ? texts.length : usual)] ?? '';
  const times = <T>(max: number, make: () => T) => Array.from({ length: chance(max + 1) }, make);
  const space = () => (isOdd ? oneOf(SPACES) : '');
  const name = () => oneOf(MEMBERS, USUAL.members);
  /** Usual records have the same members again and again. */
  const shapes = Array.from({ length: 12 }, () => times(12, name));
  const names = (max: number) =>
    isOdd ? times(max, name) : (shapes[chance(shapes.length)]?.slice(0, max) ?? []);

  function value(depth: number): string {
    const kind = chance(depth === 0 ? 8 : 10);
    if (kind < 3) return oneOf(NUMBERS, USUAL.numbers);
    if (kind < 7) return `"${oneOf(STRINGS, USUAL.strings)}"`;
    if (kind === 7) return oneOf(['null', 'true', 'false']);
    if (kind === 8) return list(times(4, () => value(depth - 1)));
    return object(members(4, depth - 1));
  }
  const members = (max: number, depth: number) =>
    names(max).map((member) => `"${member}"${space()}:${space()}${value(depth)}`);
  const object = (all: readonly string[]) => `{${space()}${all.join(`${space()},`)}}`;
  const list = (items: readonly string[]) => `[${items.join(`,${space()}`)}${space()}]`;
  const observation = () => (chance(8) === 0 ? value(1) : object(members(4, 1)));
  const observed = () => `"${oneOf(LISTS)}":${list(times(5, observation))}`;

  function record(): string {
    const all = members(12, isOdd ? 2 : 1);
    // The last of two equal members counts.
    if (chance(8) === 0) all.push(...all.slice(0, 2));
    if (FAMILY_OF[messageType] === 'location') all.splice(chance(3), 0, observed());
    return object(all);
  }

  for (;;) {
    isOdd = chance(10) === 0;
    const records = times(5, record);
    // An identical record in the same delivery gets an id of its own.
    if (chance(3) === 0) records.push(records[0] ?? record());
    yield list(records);
  }
}
