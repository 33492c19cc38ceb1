import ipaddr from 'ipaddr.js';
import { MAC_SOURCE, macDigits } from '../events/mac-address.ts';
import { fold } from '../lib/text/fold.ts';
import { LEAST_PHONE_DIGITS, phoneDigits } from './phone-number.ts';

/*
 * What in a text may name a person, in one form however it is written. Both who erases and who refuses erased records find
 * people by these functions alone: what is deleted does not come again, and what is refused was deleted.
 */

const PERCENT = /(?:%[0-9a-f]{2})+/gi;
const ESCAPE = /\\(?:u(?<code>[0-9a-f]{4})|(?<itself>["\\/])|[bfnrt])/gi;

/** The forms of a text in which it is searched: as it is, and without the escapes of a URL or of JSON within it. */
function readings(text: string): readonly string[] {
  // Fingerprints of before were made of lower case alone.
  const all = [fold(text), text.toLowerCase()];
  if (text.includes('%')) all.push(fold(text.replaceAll(PERCENT, decodePercent)));
  if (text.includes('\\')) {
    const plain = (_: string, code: string | undefined, itself = ' ') =>
      code === undefined ? itself : String.fromCharCode(Number.parseInt(code, 16));
    all.push(fold(text.replaceAll(ESCAPE, plain)));
  }
  return [...new Set(all)];
}

function decodePercent(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    return Buffer.from(run.replaceAll('%', ''), 'hex').toString('latin1');
  }
}

/** The words of a folded text as names have them. */
function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(/[\p{L}\p{M}\p{N}_.@+-]+/gu)) {
    let end = word.length;
    while (word[end - 1] === '.') end -= 1;
    if (end > 0) yield word.slice(0, end);
  }
}

/** A name as it is compared. */
export function foldName(name: string) {
  const folded = fold(name);
  const words = [...wordsOf(folded)];
  /** All of it, if it has other characters than those of words and blanks. */
  const verbatim = /^[\p{L}\p{M}\p{N}_.@+\s-]*$/u.test(folded) ? undefined : folded;
  return {
    /** Its words, with a blank between two of them; of a name without one, all of it. */
    name: words.length === 0 ? folded : words.join(' '),
    words: words.length,
    verbatim,
  };
}

/** Possible names in a text, folded: this many words in a row, or the whole text for 0. */
export function* namesIn(text: string, lengths: ReadonlySet<number>): Generator<string> {
  const longest = Math.max(0, ...lengths);
  for (const reading of readings(text)) {
    if (lengths.has(0)) yield reading;
    const last: string[] = [];
    for (const word of longest > 0 ? wordsOf(reading) : []) {
      if (last.push(word) > longest) last.shift();
      for (const length of lengths) {
        if (length > 0 && length <= last.length) yield last.slice(-length).join(' ');
      }
    }
  }
}

const ENDS_INSIDE = /[\p{L}\p{M}\p{N}]$/u;
const BEGINS_INSIDE = /^[\p{L}\p{M}\p{N}]/u;

/** Whether a text contains a folded name that neither a letter nor a digit continues. */
export const containsName = (text: string, name: string): boolean =>
  readings(text).some((reading) => {
    for (let at = reading.indexOf(name); at >= 0; at = reading.indexOf(name, at + 1)) {
      const end = at + name.length;
      const [before, after] = [reading.slice(Math.max(0, at - 2), at), reading.slice(end, end + 2)];
      if (!ENDS_INSIDE.test(before) && !BEGINS_INSIDE.test(after)) return true;
    }
    return false;
  });

const MAC = new RegExp(`(?<![0-9a-f])${MAC_SOURCE}(?![0-9a-f])`, 'g');
const EUI_64 =
  /(?<![0-9a-f])((?:[0-9a-f]{2}[-:. _]?){3})ff[-:. _]?fe[-:. _]?((?:[0-9a-f]{2}[-:. _]?){2}[0-9a-f]{2})(?![0-9a-f])/g;
/** What may be an IPv6 address, which has 39 characters at most. */
const IPV6 = /(?<![0-9a-f:])[0-9a-f:]{2,39}(?![0-9a-f:])/g;

/**
 * The MAC addresses in a text, 12 digits each: also those that an EUI-64 or an IPv6 address was made of. `onAddress` is called
 * for each IPv6 address, which takes 15 us.
 */
export function* macsIn(text: string, onAddress = () => {}): Generator<string> {
  const plain = fold(text);
  for (const [mac] of plain.matchAll(MAC)) yield macDigits(mac);
  for (const [, first = '', last = ''] of plain.matchAll(EUI_64)) {
    const mac = macDigits(first + last);
    yield* [mac, flipLocal(mac)];
  }
  for (const [run] of plain.matchAll(IPV6)) {
    if (!run.includes('ff:fe')) continue;
    onAddress();
    yield* macOfAddress(run);
  }
}

/** The seventh bit says who gave the address; an interface identifier has it the other way round (RFC 4291, appendix A). */
const flipLocal = (mac: string) =>
  (Number.parseInt(mac.slice(0, 2), 16) ^ 2).toString(16).padStart(2, '0') + mac.slice(2);

function macOfAddress(text: string): readonly string[] {
  if (!ipaddr.IPv6.isValid(text)) return [];
  const identifier = Buffer.from(ipaddr.parse(text).toByteArray()).toString('hex').slice(16);
  if (identifier.slice(6, 10) !== 'fffe') return [];
  return [flipLocal(identifier.slice(0, 6) + identifier.slice(10))];
}

const PHONE = /\d(?:[ ./()-]*\d)+/g;

/** A number is written in at most this many groups of digits; other numbers may precede or follow it. */
const PHONE_GROUPS = 8;

/** What may be phone numbers in a text, in digits. */
export function* phonesIn(text: string): Generator<string> {
  for (const [run] of fold(text).matchAll(PHONE)) {
    yield phoneDigits(run);
    const last: string[] = [];
    for (const [group] of run.matchAll(/\d+/g)) {
      if (last.push(group) > PHONE_GROUPS) last.shift();
      for (let groups = 1; groups <= last.length; groups += 1) {
        const digits = phoneDigits(last.slice(-groups).join(''));
        if (digits.length >= LEAST_PHONE_DIGITS) yield digits;
      }
    }
  }
}

/** The texts and numbers of a JSON value, and the names of its members. */
export function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Array.isArray(value) ? value.flatMap(textsOf) : Object.entries(value).flatMap(textsOf);
}
