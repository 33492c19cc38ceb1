import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRawNumber, parseExactJson } from '../../src/events/exact-json.ts';
import { OBSERVATION_LISTS } from '../../src/events/message-types.ts';
import { MAX_SET_ASIDE, RECORD_LIMITS, type RecordShape } from '../../src/ingest/scan/record-limits.ts';
import { scanBody } from '../../src/ingest/scan/scan-body.ts';

const scan = (text: string) => scanBody(Buffer.from(text));
/** The same of a message type whose records have observations. */
const scanLocation = (text: string) => scanBody(Buffer.from(text), OBSERVATION_LISTS);
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const repeat = (element: string, count: number) => Array(count).fill(element).join(',');

/** What the scan has to count, from the parsed value of a text without white space. */
function shapeOf(value: unknown): Pick<RecordShape, 'depth' | 'structural' | 'longestName'> {
  if (typeof value !== 'object' || value === null) return { depth: 0, structural: 0, longestName: 0 };
  const members = Object.entries(value);
  const inner = members.map(([, member]) => shapeOf(member));
  const colons = Array.isArray(value) ? 0 : members.length;
  const names = Array.isArray(value)
    ? []
    : members.map(([name]) => Buffer.byteLength(JSON.stringify(name)) - 2);
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    structural:
      2 +
      Math.max(0, members.length - 1) +
      colons +
      inner.reduce((sum, { structural }) => sum + structural, 0),
    longestName: Math.max(0, ...names, ...inner.map(({ longestName }) => longestName)),
  };
}

/** Every object has its names once, so that the text and the value have as many. */
const json = fc.jsonValue({ noUnicodeString: false });

describe('the scan', () => {
  it.each(['observationz', 'observations2', 'xbservations'])('takes %s for no observations', (name) => {
    const text = (list: string) => `[{"${list}":[{},{}]}]`;
    expect(scanLocation(text(name)).rows).toBe(1);
    expect(scanLocation(text('observations')).rows).toBe(3);
  });

  it('counts levels, structure and names as a parser finds them', () => {
    fc.assert(
      fc.property(json, (value) => {
        const { depth, structural, longestName } = scan(JSON.stringify({ value })).total;
        const parsed: unknown = JSON.parse(JSON.stringify({ value }));
        expect({ depth, structural, longestName }).toEqual(shapeOf(parsed));
      }),
      { numRuns: 300 },
    );
  });

  it('finds the elements that are not objects, where they are, with any white space', () => {
    fc.assert(
      fc.property(fc.array(json, { maxLength: 100 }), fc.constantFrom('', '\t'), (value, space) => {
        const text = JSON.stringify(value, undefined, space);
        const { records, setAside } = scan(text);
        const parsed: unknown = JSON.parse(text);
        const elements: unknown[] = Array.isArray(parsed) ? parsed : [];
        expect(records).toBe(elements.length);
        const found = setAside.map(({ start, end }): unknown =>
          JSON.parse(Buffer.from(text).toString('utf8', start, end)),
        );
        expect(found).toEqual(elements.filter((element) => !isObject(element)));
      }),
    );
  });

  const digits = fc.stringMatching(/^(?:0|-?[1-9]\d{0,24}|-0)(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?$/);

  it('counts every number that the exact parser keeps as text', () => {
    fc.assert(
      fc.property(fc.array(digits, { maxLength: 50 }), (numbers) => {
        const text = `[${numbers.join(',')}]`;
        const parsed = parseExactJson(text);
        const kept = Array.isArray(parsed) ? parsed.filter((value) => isRawNumber(value)).length : 0;
        expect(scan(`{"a":${text}}`).total.exactNumbers).toBeGreaterThanOrEqual(kept);
      }),
      { numRuns: 300 },
    );
  });

  it.each(['1', '-1', '0', '123456789012345', '1.5', '-0.25', '0.000001'])(
    'does not count %s, which no parser changes',
    (number) => expect(scan(`{"a":${number}}`).total.exactNumbers).toBe(0),
  );

  it('counts 0.0000001, which JavaScript prints with an exponent', () => {
    expect(scan('[{"a":0.0000001}]').total.exactNumbers).toBe(1);
  });

  it('counts the digits that a number has once it is written out', () => {
    expect(scan('{"a":1e1000,"b":-2E-10}').total.size).toBe('{"a":1e1000,"b":-2E-10}'.length + 1_010);
    expect(scan('{"a":1e1001}').total.size).toBe('{"a":1e1001}'.length);
  });
});

describe('a body is JSON', () => {
  /** What a parser finds: records of an object or of an array, or what is wrong. */
  function parsed(text: string): number | string {
    try {
      const value: unknown = JSON.parse(text);
      if (Array.isArray(value)) return value.length;
      return isObject(value) ? 1 : 'the body is neither a JSON object nor an array';
    } catch {
      return /^[ \t\r\n]*$/.test(text) ? 'the body is empty' : 'the body is not JSON';
    }
  }
  const scanned = (text: string) => {
    const { problem, records } = scan(text);
    return problem ?? records;
  };

  it.each([
    String.raw`{"id":-12.50e+3,"name":"é 😀/\"\\\/\b\u00e9","list":[0,[],{}],"no":null,"yes":true,"never":false}`,
    ' \t\r\n[{"a":{}} , {"b":[0.1,10,1E9]},7]\n',
    '[]',
    '{}',
    '"text"',
    '-0',
  ])('if a parser says so: %j', (text) => expect(scanned(text)).toBe(parsed(text)));

  it.each([
    ['', '', ['[', ']', '{', '}', ',', ':', '"a"', '1', 'true']],
    ['[', ']', ['0', '1', '-', '.', 'e', '+']],
    ['["', '"]', ['\\', 'u', '0', 'x', '"', '\u0001']],
    ['[', ']', ['n', 'u', 'l', 't', 'e', ' ']],
  ])('if a parser says so: every text between %j and %j of up to five of %j', (start, end, tokens) => {
    const wrong: string[] = [];
    const check = (text: string, left: number) => {
      const isBegun = /^[[{]/.test(text);
      if (scanned(text + end) !== parsed(text + end)) wrong.push(text + end);
      if (left > 0 && (isBegun || left > 3)) for (const token of tokens) check(text + token, left - 1);
    };
    check(start, 5);
    expect(wrong).toEqual([]);
  });

  it('if a parser says so: any JSON with any change', () => {
    const ascii = fc.string({ unit: 'binary-ascii', maxLength: 1 });
    const change = fc.oneof(ascii, ascii, fc.constantFrom('\u00A0', '\u2028', '\\', '\\u12'));
    fc.assert(
      fc.property(json, fc.nat(), fc.nat(2), change, (value, at, cut, put) => {
        const sent = JSON.stringify(value);
        const start = at % (sent.length + 1);
        const text = sent.slice(0, start) + put + sent.slice(start + cut);
        expect(scanned(text)).toBe(parsed(text));
      }),
      { numRuns: 700 },
    );
  });
});

describe('a record beyond a limit is set aside alone, with the limit', () => {
  /** A record with this much of each measure; of depth with the array around it. */
  const RECORDS = {
    depth: (size: number) => `{"a":${'['.repeat(size - 2)}${']'.repeat(size - 2)}}`,
    structural: (size: number) => `{"a":[${'0,'.repeat(size - 5)}0]}`,
    exactNumbers: (size: number) => `{"a":[${repeat('1e1', size)}]}`,
    longestName: (size: number) => `{"${'n'.repeat(size)}":1}`,
    size: (size: number) => `{"a":"${'x'.repeat(size - 8)}"}`,
  };

  it.each(['depth', 'structural', 'exactNumbers', 'longestName', 'size'] as const)('%s', (measure) => {
    const { max, problem } = RECORD_LIMITS[measure];
    const recordOf = RECORDS[measure];
    const [within, beyond] = [recordOf(max), recordOf(max + 1)];
    const text = `[{"a":1},${within},${beyond} ,${within}]`;
    const start = 10 + within.length;
    expect(scan(text)).toMatchObject({
      problem: undefined,
      records: 4,
      setAside: [{ start, end: start + beyond.length, reason: `the record ${problem}` }],
    });
    // With nothing beside it, the body is the record.
    expect(scan(`[${beyond}]`).problem).toBe(`the record ${problem}`);
  });

  it('the numbers of a record as they are written out', () => {
    const numbers = (count: number) => `{"code":780,"numbers":[${repeat('1e1000', count)}]}`;
    const { setAside } = scan(`[${numbers(2_000)},${numbers(49_000)},${numbers(2_000)}]`);
    expect(setAside).toMatchObject([{ start: 14_026, reason: `the record ${RECORD_LIMITS.size.problem}` }]);
  });

  it('up to 100 of them, and elements that are not objects: a body with more cannot be read', () => {
    const beyond = RECORDS.longestName(5_000);
    expect(scan(`[${repeat(`${beyond},1`, MAX_SET_ASIDE / 2)}]`).setAside).toHaveLength(MAX_SET_ASIDE);
    expect(scan(`[${repeat(beyond, MAX_SET_ASIDE + 1)}]`).problem).toBe(
      'the body has more than 100 elements that are not objects or exceed a limit',
    );
  });

  it('whatever is within one that is nested too deep', () => {
    const deep = `{"a":${'['.repeat(300)}}]"]\\"]\\\\"`;
    expect(scan(`[{"a":1},${deep},]${']'.repeat(297)}},{"b":1}]`)).toMatchObject({
      problem: undefined,
      records: 3,
      setAside: [{ start: 9 }],
    });
    expect(scan(`[${deep}"`).problem).toBe('the body is not JSON');
  });
});

describe('the limits hold for each observation, and for a record without them', () => {
  const { max } = RECORD_LIMITS.structural;
  const filled = `{"x":1.0000000000000001,"filler":"${'x'.repeat(30)}"}`;
  const many = repeat(filled, max / 5);
  const record = (observations: string, more = '') => `{"apMac":"a","observations":[${observations}]${more}}`;

  it('so that a record may have very many', () => {
    const text = `[${record(many)},${record(many, ',"deviceObservers":[ ]')}]`;
    expect(scanLocation(text)).toMatchObject({ problem: undefined, setAside: [], records: 2, rows: 80_002 });
    expect(scan(text).setAside).toHaveLength(2);
  });

  it.each([
    ['an observation', record(`{"a":[${'0,'.repeat(max)}0]}`)],
    ['the rest of the record', record('0', `,"a":[${'0,'.repeat(max)}0]`)],
    ['a second list', record(many, ',"deviceObservers":[0]')],
    ['a list twice', record(many, ',"observations":null')],
    ['a list whose name only a parser can read', record(many, String.raw`,"observ\u0061tions":[0]`)],
    ['a list of another name', `{"others":[${many}]}`],
    ['a list within another member', `{"a":{"observations":[${many}]}}`],
  ])('not more: %s', (_, text) => {
    expect(scanLocation(`[{"a":1},${text},{"b":1}]`)).toMatchObject({
      records: 3,
      setAside: [{ start: 9, end: 9 + text.length }],
    });
  });

  it('and a body has no more rows than one for each 50 bytes, or 66,000', () => {
    expect(scan(`[${repeat('{}', 66_000)}]`).problem).toBeUndefined();
    const problem = 'the body has more than 66000 records and observations';
    expect(scan(`[${repeat('{}', 66_001)}]`).problem).toBe(problem);
    expect(scanLocation(`[${record(repeat('{}', 66_000))}]`).problem).toBe(problem);
    expect(scan(`[${repeat(`{"a":"${'x'.repeat(42)}"}`, 100_000)}]`).problem).toBeUndefined();
  });
});
