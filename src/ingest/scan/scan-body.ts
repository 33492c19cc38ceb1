import { MAX_EXPONENT } from '../../events/exact-json.ts';
import { MAX_SET_ASIDE, maxRows, RECORD_LIMITS, RecordShape } from './record-limits.ts';
import { NOT_AN_OBJECT, ScannedElements, type SetAsideElement } from './scanned-elements.ts';

/** A body, as far as its bytes tell without parsing them. */
export interface ScannedBody {
  /** Why nothing of the body can be read, as a sentence; undefined if it is JSON with records. */
  readonly problem: string | undefined;
  readonly isArray: boolean;
  /** Elements of the outermost array, or 1. */
  readonly records: number;
  /** The events that the records may become: records and observations. */
  readonly rows: number;
  /** Of all records together; depth and longest name are those of the last one. */
  readonly total: RecordShape;
  /** In the order of the body. */
  readonly setAside: readonly SetAsideElement[];
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const CLOSE_ARRAY = 0x5d;

/** The bytes of strings that are nothing but text: no quote, no escape, no control character. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 0 : 1,
);

/** What may follow a backslash, beside `u` and four digits. */
const ESCAPED = new Set(Buffer.from('"\\/bfnrt'));
const HEX = new Set(Buffer.from('0123456789abcdefABCDEF'));

/** The tokens that may follow in a JSON text. */
const VALUE = 0;
const VALUE_OR_END = 1;
const NAME = 2;
const NAME_OR_END = 3;
const COLON = 4;
/** A comma, or the end of what contains the value. */
const AFTER_VALUE = 5;

const MAX_DEPTH = RECORD_LIMITS.depth.max;

/** Whether each level of nesting is an object, while a body is scanned. */
const isObjectAt = new Uint8Array(MAX_DEPTH + 2);

/**
 * Reads the shape of a body in one pass, without parsing it: whether it is JSON, and which of its elements are to be set
 * aside. `lists` are names of members whose elements become rows of their own: if a record has one such list, the limits
 * hold for each element of that, and for the record without them. Whether text is UTF-8 is not checked, nor what stands
 * deeper than the limit. Ends early once nothing of the body can be read.
 */
export function scanBody(body: Buffer, lists: readonly string[] = []): ScannedBody {
  const { length } = body;
  const elements = new ScannedElements(body, lists);
  const rowLimit = maxRows(length);
  let depth = 0;
  let deepest = 0;
  let structural = 0;
  let exactNumbers = 0;
  let writtenOut = 0;
  let nameStart = 0;
  let nameEnd = 0;
  let isEscaped = false;
  let longestName = 0;
  let isArray = false;
  let next = VALUE;
  let isValid = true;
  let elementDepth = elements.depth;
  // No closure may use these variables: on the heap, where it would keep them, each byte costs three times as much.
  for (let at = hasByteOrderMark(body) ? 3 : 0; at < length; at += 1) {
    const byte = body[at] ?? 0;
    if (depth === elementDepth && next <= VALUE_OR_END && byte > 0x20 && byte !== CLOSE_ARRAY) {
      if (!elements.isInList) {
        deepest = depth;
        longestName = 0;
      }
      elements.begin(at, new RecordShape(deepest, structural, exactNumbers, longestName, at + writtenOut));
    }
    switch (byte) {
      case 0x22: {
        nameStart = at + 1;
        at = nameStart;
        isEscaped = false;
        for (;;) {
          at = endOfPlain(body, at);
          if (body[at] === QUOTE || at >= length) break;
          isEscaped = true;
          const escape = escapeLength(body, at);
          if (escape === 0) isValid = false;
          at += escape === 0 ? 1 : escape;
        }
        if (at >= length) isValid = false;
        nameEnd = at;
        if (next === NAME || next === NAME_OR_END) next = COLON;
        else if (next <= VALUE_OR_END) next = AFTER_VALUE;
        else isValid = false;
        break;
      }
      case 0x7b: // {
        structural += 1;
        depth += 1;
        if (depth > deepest) deepest = depth;
        if (next > VALUE_OR_END) isValid = false;
        isObjectAt[depth] = 1;
        next = NAME_OR_END;
        if (depth > MAX_DEPTH) at = closingBracket(body, at) - 1;
        break;
      case 0x5b: // [
        structural += 1;
        if (depth === 0) {
          isArray = true;
          elements.openArray();
        } else if (depth === elementDepth + 1) {
          elements.openList(at);
        }
        elementDepth = elements.depth;
        depth += 1;
        if (depth > deepest) deepest = depth;
        if (next > VALUE_OR_END) isValid = false;
        isObjectAt[depth] = 0;
        next = VALUE_OR_END;
        if (depth > MAX_DEPTH) at = closingBracket(body, at) - 1;
        break;
      case 0x7d: // }
        structural += 1;
        if (isObjectAt[depth] !== 1 || (next !== AFTER_VALUE && next !== NAME_OR_END)) isValid = false;
        next = AFTER_VALUE;
        depth -= 1;
        break;
      case 0x5d: // ]
        structural += 1;
        if (isObjectAt[depth] !== 0 || (next !== AFTER_VALUE && next !== VALUE_OR_END)) isValid = false;
        next = AFTER_VALUE;
        depth -= 1;
        break;
      case 0x3a: // :
        structural += 1;
        if (nameEnd - nameStart > longestName) longestName = nameEnd - nameStart;
        if (next !== COLON) isValid = false;
        next = VALUE;
        if (depth === elementDepth + 1) elements.noteName(nameStart, nameEnd, isEscaped);
        break;
      case 0x2c: // ,
        structural += 1;
        if (next !== AFTER_VALUE || depth < 1) isValid = false;
        next = isObjectAt[depth] === 1 ? NAME : VALUE;
        break;
      case 0x74: // true
      case 0x66: // false
      case 0x6e: // null
        if (next > VALUE_OR_END || !isWord(body, at)) isValid = false;
        next = AFTER_VALUE;
        at += byte === 0x66 ? 4 : 3;
        break;
      case 0x2d:
      case 0x30:
      case 0x31:
      case 0x32:
      case 0x33:
      case 0x34:
      case 0x35:
      case 0x36:
      case 0x37:
      case 0x38:
      case 0x39: {
        const end = endOfNumber(body, at);
        if (next > VALUE_OR_END || end === at) isValid = false;
        if (mayLoseDigits(body, at, end)) {
          exactNumbers += 1;
          writtenOut += writtenOutDigits(body, at, end);
        }
        next = AFTER_VALUE;
        at = Math.max(at, end - 1);
        break;
      }
      case 0x09:
      case 0x0a:
      case 0x0d:
      case 0x20:
        break;
      default:
        isValid = false;
    }
    if (!isValid) break;
    if (depth <= elementDepth && next === AFTER_VALUE) {
      if (depth < elementDepth) elements.closeList();
      else if (elements.isOpen)
        elements.end(
          at + 1,
          new RecordShape(deepest, structural, exactNumbers, longestName, at + 1 + writtenOut),
        );
      elementDepth = elements.depth;
      if (elements.setAside.length > MAX_SET_ASIDE || elements.rows > rowLimit) break;
    }
  }
  const isWhole = isValid && next === AFTER_VALUE && depth === 0;
  const isEmpty = isValid && next === VALUE && depth === 0;
  const { records, rows, setAside } = elements;
  const problem = isEmpty ? 'the body is empty' : problemOf(elements, isArray, isWhole, rowLimit);
  const total = new RecordShape(deepest, structural, exactNumbers, longestName, length + writtenOut);
  return { problem, isArray, records, rows, total, setAside };
}

function problemOf(
  { records, rows, setAside }: ScannedElements,
  isArray: boolean,
  isWhole: boolean,
  rowLimit: number,
): string | undefined {
  if (rows > rowLimit) return `the body has more than ${rowLimit} records and observations`;
  if (setAside.length > MAX_SET_ASIDE)
    return `the body has more than ${MAX_SET_ASIDE} elements that are not objects or exceed a limit`;
  if (!isWhole) return 'the body is not JSON';
  const [only] = setAside;
  if (only === undefined || records > 1) return undefined;
  if (only.reason !== NOT_AN_OBJECT) return only.reason;
  return isArray ? undefined : 'the body is neither a JSON object nor an array';
}

const hasByteOrderMark = (body: Buffer) => body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;

function endOfPlain(body: Uint8Array, start: number): number {
  let at = start;
  while (PLAIN[body[at] ?? 0] === 1) at += 1;
  return at;
}

/** The bytes of the escape that begins here; 0 if it is none. */
function escapeLength(body: Buffer, at: number): number {
  if (body[at] !== BACKSLASH) return 0;
  const escaped = body[at + 1] ?? 0;
  if (ESCAPED.has(escaped)) return 2;
  const isUnicode = escaped === 0x75 && [2, 3, 4, 5].every((digit) => HEX.has(body[at + digit] ?? 0));
  return isUnicode ? 6 : 0;
}

/**
 * The place of the bracket that closes the one at `start`, of whatever kind; the end of the body if none does. A loop of its
 * own: 10 MiB of brackets took 0.5 s in the other.
 */
function closingBracket(body: Uint8Array, start: number): number {
  let depth = 0;
  for (let at = start; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === QUOTE) {
      at += 1;
      while (at < body.length && body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1;
    } else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
    } else if (byte === 0x5d || byte === 0x7d) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return body.length;
}

const WORDS = ['true', 'false', 'null'].map((word) => Buffer.from(word));

function isWord(body: Uint8Array, start: number): boolean {
  for (const word of WORDS) {
    let at = 0;
    while (at < word.length && body[start + at] === word[at]) at += 1;
    if (at === word.length) return true;
  }
  return false;
}

const isDigit = (byte = 0) => byte >= ZERO && byte <= NINE;

function endOfDigits(body: Uint8Array, start: number): number {
  let at = start;
  while (isDigit(body[at])) at += 1;
  return at;
}

/** The end of the number that begins here; `start` if none does (RFC 8259, section 6). */
function endOfNumber(body: Uint8Array, start: number): number {
  const first = body[start] === MINUS ? start + 1 : start;
  let end = body[first] === ZERO ? first + 1 : endOfDigits(body, first);
  if (end === first) return start;
  if (body[end] === POINT) {
    const fraction = end + 1;
    end = endOfDigits(body, fraction);
    if (end === fraction) return start;
  }
  if (body[end] !== 0x65 && body[end] !== 0x45) return end;
  const sign = body[end + 1];
  const exponent = end + (sign === PLUS || sign === MINUS ? 2 : 1);
  end = endOfDigits(body, exponent);
  return end === exponent ? start : end;
}

/** The same numbers as in `parseExactJson`: 16 digits, an exponent, a trailing zero after the point, 0.000000, minus zero. */
function mayLoseDigits(body: Uint8Array, start: number, end: number): boolean {
  const isNegative = body[start] === MINUS;
  const first = isNegative ? start + 1 : start;
  const size = end - first;
  if (size >= 16) return true;
  if (size === 1) return isNegative && body[first] === ZERO;
  let hasPoint = false;
  let zeros = 0;
  for (let at = first; at < end; at += 1) {
    const byte = body[at];
    if (byte === POINT) hasPoint = true;
    else if (byte === 0x65 || byte === 0x45) return true;
    if (zeros === at - first && (byte === ZERO || byte === POINT)) zeros += 1;
  }
  return hasPoint && (body[end - 1] === ZERO || zeros >= 8);
}

/** The digits that the exponent of a number adds (see `writtenOut` in exact JSON). */
function writtenOutDigits(body: Uint8Array, start: number, end: number): number {
  let at = start;
  while (at < end && body[at] !== 0x65 && body[at] !== 0x45) at += 1;
  let exponent = 0;
  for (; at < end; at += 1) {
    const byte = body[at] ?? 0;
    if (isDigit(byte)) exponent = exponent * 10 + byte - ZERO;
  }
  return exponent > MAX_EXPONENT ? 0 : exponent;
}
