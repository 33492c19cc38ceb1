/** The shape of a JSON text, counted from its bytes alone. Of a text that is not JSON it is right up to the first error. */
export interface BodyShape {
  readonly depth: number;
  /** Brackets, braces, commas and colons outside strings: what a parser makes objects, members and elements of. */
  readonly structural: number;
  /** Numbers that may lose digits as a JavaScript number (see `parseExactJson`). */
  readonly exactNumbers: number;
  /** Bytes of the longest member name. */
  readonly longestName: number;
  /** Bytes of the largest record: the body itself, or an object in its outermost array. */
  readonly largestRecord: number;
  /** Elements of the outermost array that are not objects. */
  readonly nonObjects: number;
}

/** The shape of a body, with as much as is certain about its text. */
export interface ScannedBody extends BodyShape {
  /**
   * The text is one JSON object, or an array of so many elements. Undefined if only a parser can tell: the scan leaves
   * escapes and exponents to it.
   */
  readonly content: 'object' | number | undefined;
  /** Objects at any depth: records, and the observations that become rows of their own. */
  readonly objects: number;
}

const MIB = 1024 * 1024;

/**
 * The limits of a body. A body beyond one of them is quarantined whole, before it is parsed. Times are CPU time for the
 * worst body of 10 MiB within the limits, measured on two shared cores.
 */
export const BODY_LIMITS: {
  readonly [Measure in keyof BodyShape]: {
    readonly max: number;
    /** Completes the sentence "the body ...". */
    readonly problem: string;
    readonly reason: string;
  };
} = {
  depth: {
    max: 200,
    problem: 'is nested deeper than 200 levels',
    reason:
      'every recursive parser has a limit, Postgres too; no record of the cloud is deeper than a few levels',
  },
  structural: {
    max: 200_000,
    problem: 'has more than 200,000 structural characters (brackets, braces, commas and colons)',
    reason:
      'one character in the body becomes 50 to 100 bytes in memory; 6,000 audit records or 14,000 observations have as many',
  },
  exactNumbers: {
    max: 50_000,
    problem: 'has more than 50,000 numbers whose digits a JavaScript number cannot keep',
    reason: 'each takes 4 us and 200 bytes; 12,000 observations with four long coordinates have as many',
  },
  longestName: {
    max: 4_096,
    problem: 'has a member name longer than 4,096 bytes',
    reason: 'V8 keeps each name in a table for the whole process; the longest name of the cloud has 40 bytes',
  },
  largestRecord: {
    max: 2 * MIB,
    problem: 'has a record larger than 2 MiB',
    reason: 'the statement that stores a record is one text, which holds up the event loop for 15 ms per MiB',
  },
  nonObjects: {
    max: 100,
    problem: 'has more than 100 elements that are not objects',
    reason: 'each becomes a row in quarantine: without the limit, 19 bytes as sent became 100,000 rows',
  },
};

const MEASURES = [
  'depth',
  'structural',
  'exactNumbers',
  'longestName',
  'largestRecord',
  'nonObjects',
] as const satisfies readonly (keyof BodyShape)[];

/** The first limit that a body exceeds, as the rest of a sentence that begins with "the body"; undefined if none. */
export function exceededLimit(shape: BodyShape): string | undefined {
  const measure = MEASURES.find((name) => shape[name] > BODY_LIMITS[name].max);
  return measure === undefined ? undefined : BODY_LIMITS[measure].problem;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const ZERO = 0x30;
const NINE = 0x39;
const POINT = 0x2e;
const MINUS = 0x2d;

/** The bytes of strings that are nothing but text: no quote, no escape, no control character. */
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 0 : 1,
);

/** The tokens that may follow in a JSON text. */
const VALUE = 0;
const VALUE_OR_END = 1;
const NAME = 2;
const NAME_OR_END = 3;
const COLON = 4;
/** A comma, or the end of what contains the value. */
const AFTER_VALUE = 5;

/** Whether each level of nesting is an object, while a body is scanned. */
const isObjectAt = new Uint8Array(BODY_LIMITS.depth.max + 2);

/** Counts the shape of a body in one pass, without memory. Ends early once a count is beyond its limit. */
export function scanBody(body: Uint8Array): ScannedBody {
  const length = body.length;
  let depth = 0;
  let deepest = 0;
  let structural = 0;
  let exactNumbers = 0;
  let lastString = 0;
  let longestName = 0;
  let recordStart = -1;
  let largestRecord = 0;
  let nonObjects = 0;
  let isArray = false;
  /** The depth of records: 1 in an array of them, else 0. */
  let recordDepth = 0;
  let records = 0;
  let objects = 0;
  /** As long as the text is certain to be JSON, the token that follows. */
  let next = VALUE;
  let isCertain = true;
  scan: for (let at = 0; at < length; at += 1) {
    switch (body[at] ?? 0) {
      case 0x22: {
        const start = at + 1;
        at = start;
        while (PLAIN[body[at] ?? 0] === 1) at += 1;
        if (body[at] !== QUOTE) isCertain = false;
        for (let byte = body[at]; at < length && byte !== QUOTE; byte = body[at])
          at += byte === BACKSLASH ? 2 : 1;
        lastString = at - start;
        if (isArray && depth === 1) nonObjects += 1;
        if (next === NAME || next === NAME_OR_END) next = COLON;
        else if (next <= VALUE_OR_END) next = AFTER_VALUE;
        else isCertain = false;
        break;
      }
      case 0x7b: // {
        structural += 1;
        objects += 1;
        if (depth === recordDepth) {
          recordStart = at;
          records += 1;
        }
        depth += 1;
        if (depth > deepest) deepest = depth;
        if (next > VALUE_OR_END) isCertain = false;
        isObjectAt[depth] = 1;
        next = NAME_OR_END;
        break;
      case 0x5b: // [
        structural += 1;
        if (isArray && depth === 1) nonObjects += 1;
        if (depth === 0) {
          isArray = true;
          recordDepth = 1;
        }
        depth += 1;
        if (depth > deepest) deepest = depth;
        if (next > VALUE_OR_END) isCertain = false;
        isObjectAt[depth] = 0;
        next = VALUE_OR_END;
        break;
      case 0x7d: // }
        structural += 1;
        if (isObjectAt[depth] !== 1 || (next !== AFTER_VALUE && next !== NAME_OR_END)) isCertain = false;
        next = AFTER_VALUE;
        depth -= 1;
        if (depth === recordDepth && at - recordStart >= largestRecord) largestRecord = at - recordStart + 1;
        break;
      case 0x5d: // ]
        structural += 1;
        if (isObjectAt[depth] !== 0 || (next !== AFTER_VALUE && next !== VALUE_OR_END)) isCertain = false;
        next = AFTER_VALUE;
        depth -= 1;
        break;
      case 0x3a: // :
        structural += 1;
        if (lastString > longestName) longestName = lastString;
        if (next !== COLON) isCertain = false;
        next = VALUE;
        break;
      case 0x2c: // ,
        structural += 1;
        if (structural > BODY_LIMITS.structural.max || nonObjects > BODY_LIMITS.nonObjects.max) break scan;
        if (exactNumbers > BODY_LIMITS.exactNumbers.max || deepest > BODY_LIMITS.depth.max) break scan;
        if (next !== AFTER_VALUE || depth < 1) isCertain = false;
        next = isObjectAt[depth] === 1 ? NAME : VALUE;
        break;
      case 0x74: // true
      case 0x66: // false
      case 0x6e: // null
        if (next > VALUE_OR_END || !isWord(body, at)) isCertain = false;
        next = AFTER_VALUE;
        at += body[at] === 0x66 ? 4 : 3;
        if (isArray && depth === 1) nonObjects += 1;
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
        if (mayLoseDigits(body, at, end)) exactNumbers += 1;
        if (next > VALUE_OR_END || !isPlainNumber(body, at, end)) isCertain = false;
        next = AFTER_VALUE;
        at = end - 1;
        if (isArray && depth === 1) nonObjects += 1;
        break;
      }
      case 0x09:
      case 0x0a:
      case 0x0d:
      case 0x20:
        break;
      default:
        isCertain = false;
    }
    if (deepest > BODY_LIMITS.depth.max) break;
  }
  const isWhole = isCertain && next === AFTER_VALUE && depth === 0;
  return {
    depth: deepest,
    structural,
    exactNumbers,
    longestName,
    largestRecord,
    nonObjects,
    content: isWhole ? contentOf(isArray, records, nonObjects) : undefined,
    objects,
  };
}

function contentOf(isArray: boolean, records: number, nonObjects: number): ScannedBody['content'] {
  if (isArray) return records + nonObjects;
  return records === 1 ? 'object' : undefined;
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

function endOfNumber(body: Uint8Array, start: number): number {
  let end = start + 1;
  for (; end < body.length; end += 1) {
    const byte = body[end] ?? 0;
    const isPart =
      (byte >= ZERO && byte <= NINE) ||
      byte === POINT ||
      byte === 0x65 || // e
      byte === 0x45 || // E
      byte === 0x2b || // +
      byte === MINUS;
    if (!isPart) break;
  }
  return end;
}

/** Whether these bytes of a number are certain to be one: it has no exponent. */
function isPlainNumber(body: Uint8Array, start: number, end: number): boolean {
  const first = body[start] === MINUS ? start + 1 : start;
  let point = end;
  for (let at = first; at < end; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === POINT && point === end) point = at;
    else if (byte < ZERO || byte > NINE) return false;
  }
  return point > first && point !== end - 1 && (body[first] !== ZERO || point === first + 1);
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
