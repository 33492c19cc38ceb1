import { exceededLimit, RecordShape } from './record-limits.ts';

const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;

/** An element of the outermost array that is not to be parsed: its bytes, and why. */
export interface SetAsideElement {
  readonly start: number;
  readonly end: number;
  readonly reason: string;
}

export const NOT_AN_OBJECT = 'the record is not a JSON object';

const NOTHING = new RecordShape();

/** The first shape, with what can be added up of the second one added, or taken off it. */
const add = (a: RecordShape, b: RecordShape, sign: 1 | -1): RecordShape =>
  new RecordShape(
    a.depth,
    a.structural + sign * b.structural,
    a.exactNumbers + sign * b.exactNumbers,
    a.longestName,
    a.size + sign * b.size,
  );

/** Follows a scan through the records of a body, and through the observations in a list of a record. */
export class ScannedElements {
  readonly setAside: SetAsideElement[] = [];
  records = 0;
  rows = 0;
  /** The depth at which records begin, or the elements of a list while the scan is within one. */
  depth = 0;
  isInList = false;
  /** Whether an element has begun and not ended. */
  isOpen = false;
  readonly #body: Buffer;
  readonly #lists: readonly Buffer[];
  /** Names of lists in the record, and which of them the scan is at, or behind. */
  readonly #names = new Set<Buffer>();
  #name: Buffer | undefined;
  #hadList = false;
  /** Only a parser can tell which list is the one. */
  #isAmbiguous = false;
  #start = 0;
  #problem: string | undefined;
  #before = NOTHING;
  #beforeListed = NOTHING;
  /** The elements of the list together. */
  #listed = NOTHING;

  constructor(body: Buffer, lists: readonly string[]) {
    this.#body = body;
    this.#lists = lists.map((name) => Buffer.from(name));
  }

  /** The body is an array: its elements are the records. */
  openArray(): void {
    this.depth = 1;
    this.isOpen = false;
    this.records = 0;
    this.rows = 0;
  }

  begin(at: number, shape: RecordShape): void {
    this.isOpen = true;
    this.rows += 1;
    if (this.isInList) {
      this.#beforeListed = shape;
      return;
    }
    this.records += 1;
    this.#start = at;
    this.#before = shape;
    this.#listed = NOTHING;
    this.#names.clear();
    this.#name = undefined;
    this.#hadList = false;
    this.#isAmbiguous = false;
    this.#problem = undefined;
  }

  end(end: number, shape: RecordShape): void {
    this.isOpen = false;
    if (this.isInList) {
      const element = add(shape, this.#beforeListed, -1);
      this.#problem ??= exceededLimit(element);
      this.#listed = add(this.#listed, element, 1);
      return;
    }
    const whole = add(shape, this.#before, -1);
    this.#problem ??= exceededLimit(this.#isAmbiguous ? whole : add(whole, this.#listed, -1));
    const isObject = this.#body[this.#start] === OPEN_OBJECT;
    if (this.#problem === undefined && isObject) return;
    const reason = this.#problem === undefined ? NOT_AN_OBJECT : `the record ${this.#problem}`;
    this.setAside.push({ start: this.#start, end, reason });
  }

  /** A member of the record, or of an element of its list, has the name between these places. */
  noteName(start: number, end: number, isEscaped: boolean): void {
    if (this.isInList) return;
    this.#name = this.#lists.find((name) => name.length === end - start && isAt(this.#body, start, name));
    if (this.#name === undefined) this.#isAmbiguous ||= isEscaped;
    else if (this.#names.has(this.#name)) this.#isAmbiguous = true;
    else this.#names.add(this.#name);
  }

  /** An array begins here within the record, which may be a list. */
  openList(at: number): void {
    if (this.isInList || this.#name === undefined) return;
    if (this.#hadList) this.#isAmbiguous ||= !isEmptyArray(this.#body, at);
    if (this.#hadList || isEmptyArray(this.#body, at)) return;
    this.isInList = true;
    this.#hadList = true;
    this.depth += 2;
  }

  /** The list has ended, if the scan was within one: what follows is of the record again. */
  closeList(): void {
    if (!this.isInList) return;
    this.isInList = false;
    this.isOpen = true;
    this.depth -= 2;
  }
}

/** Byte by byte: a call of `Buffer.compare` takes longer than a short name. */
function isAt(body: Buffer, start: number, name: Buffer): boolean {
  let at = 0;
  while (at < name.length && body[start + at] === name[at]) at += 1;
  return at === name.length;
}

/** Whether the array that begins here has no elements. */
function isEmptyArray(body: Buffer, start: number): boolean {
  let at = start + 1;
  while (at < body.length && (body[at] ?? 0) <= 0x20) at += 1;
  return body[at] === CLOSE_ARRAY;
}
