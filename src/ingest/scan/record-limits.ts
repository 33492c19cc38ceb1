import { MAX_RECORD_BYTES } from '../../events/parse-records.ts';

/**
 * What a record costs, counted from its bytes alone, before it is parsed. A class, because V8 never keeps the optimized code
 * of a scan with object literals: it took four times as long.
 */
export class RecordShape {
  /** Levels of nesting, the outermost array included. */
  readonly depth: number;
  /** Brackets, braces, commas and colons outside strings: what a parser makes objects, members and elements of. */
  readonly structural: number;
  /** Numbers that may lose digits as a JavaScript number (see `parseExactJson`). */
  readonly exactNumbers: number;
  /** Bytes of the longest member name. */
  readonly longestName: number;
  /** Bytes, with the digits that numbers with an exponent have once they are written out. */
  readonly size: number;

  constructor(depth = 0, structural = 0, exactNumbers = 0, longestName = 0, size = 0) {
    this.depth = depth;
    this.structural = structural;
    this.exactNumbers = exactNumbers;
    this.longestName = longestName;
    this.size = size;
  }
}

/** The limits of a record. One beyond any of them is set aside, unparsed. */
export const RECORD_LIMITS: {
  readonly [Measure in keyof RecordShape]: {
    readonly max: number;
    /** Completes the sentence "the record ...". */
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
    reason: 'one character in the body becomes 50 to 100 bytes in memory',
  },
  exactNumbers: {
    max: 50_000,
    problem: 'has more than 50,000 numbers whose digits a JavaScript number cannot keep',
    reason: 'each takes 4 us and 200 bytes',
  },
  longestName: {
    max: 4_096,
    problem: 'has a member name longer than 4,096 bytes',
    reason: 'V8 keeps each name in a table for the whole process; the longest name of the cloud has 40 bytes',
  },
  size: {
    max: MAX_RECORD_BYTES,
    problem: 'is larger than 2 MiB, or would be with its numbers written out',
    reason: 'the statement that stores a record is one text, which holds up the event loop for 15 ms per MiB',
  },
};

/** More elements than this are not set aside one by one: each is a row in quarantine, and may be 2 bytes as sent. */
export const MAX_SET_ASIDE = 100;

/** A record of the cloud has 200 bytes and more, an observation 100. Each becomes a row, however little it contains. */
const BYTES_PER_ROW = 50;
const ROWS_OF_ANY_BODY = 66_000;

/** The number of records and observations that a body of this many bytes may have. */
export const maxRows = (bytes: number): number =>
  Math.max(ROWS_OF_ANY_BODY, Math.floor(bytes / BYTES_PER_ROW));

const { depth, structural, exactNumbers, longestName, size } = RECORD_LIMITS;

/** The first limit that a record exceeds, as the rest of a sentence that begins with "the record"; undefined if none. */
export function exceededLimit(shape: RecordShape): string | undefined {
  // Not in a loop: each record and each observation passes here.
  if (shape.depth > depth.max) return depth.problem;
  if (shape.structural > structural.max) return structural.problem;
  if (shape.exactNumbers > exactNumbers.max) return exactNumbers.problem;
  if (shape.longestName > longestName.max) return longestName.problem;
  return shape.size > size.max ? size.problem : undefined;
}
