import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRawNumber, parseExactJson } from '../../src/events/exact-json.ts';
import { BODY_LIMITS, exceededLimit, scanBody } from '../../src/ingest/scan-body.ts';
import type { ScannedBody } from '../../src/ingest/scan-body.ts';

const scan = (text: string) => scanBody(Buffer.from(text));
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the scan has to count, from the parsed value of a text without white space. */
function shapeOf(value: unknown): Pick<ScannedBody, 'depth' | 'structural' | 'longestName' | 'objects'> {
  if (typeof value !== 'object' || value === null)
    return { depth: 0, structural: 0, longestName: 0, objects: 0 };
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
    objects: inner.reduce((sum, { objects }) => sum + objects, Array.isArray(value) ? 0 : 1),
  };
}

/** Every object has its names once, so that the text and the value have as many. */
const json = fc.jsonValue({ noUnicodeString: false });

describe('the scan', () => {
  it('counts levels, structure, names and elements as a parser finds them', () => {
    fc.assert(
      fc.property(json, (value) => {
        const { depth, structural, longestName, objects, nonObjects } = scan(JSON.stringify(value));
        const parsed: unknown = JSON.parse(JSON.stringify(value));
        expect({ depth, structural, longestName, objects }).toEqual(shapeOf(parsed));
        expect(nonObjects).toBe(Array.isArray(parsed) ? parsed.filter((part) => !isObject(part)).length : 0);
      }),
      { numRuns: 1_000 },
    );
  });

  it('is not misled by white space', () => {
    fc.assert(
      fc.property(json, (value) => {
        const { largestRecord: _, ...spaced } = scan(JSON.stringify(value, undefined, '\t'));
        const { largestRecord: __, ...dense } = scan(JSON.stringify(value));
        expect(spaced).toEqual(dense);
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
        expect(scan(text).exactNumbers).toBeGreaterThanOrEqual(kept);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(['1', '-1', '0', '123456789012345', '1.5', '-0.25', '0.000001'])(
    'does not count %s, which no parser changes',
    (number) => expect(scan(`{"a":${number}}`).exactNumbers).toBe(0),
  );

  it('measures the largest record, in an array or alone', () => {
    const record = '{"a":{"b":[1,{"c":2}]}}';
    expect(scan(`[{}, ${record} ,{"d":1}]`).largestRecord).toBe(record.length);
    expect(scan(` ${record}\n`).largestRecord).toBe(record.length);
  });

  it('measures a record that is one byte larger than the largest before it', () => {
    expect(scan('[{"a":1},{"a":12}]').largestRecord).toBe('{"a":12}'.length);
  });

  it('counts 0.0000001, which JavaScript prints with an exponent', () => {
    expect(scan('[{"a":0.0000001}]').exactNumbers).toBe(1);
  });

  it('ends whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 1_000 }), (bytes) => {
        const { content: _, ...counts } = scanBody(bytes);
        for (const count of Object.values(counts)) expect(count).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});

describe('the content', () => {
  /** What a parser finds; undefined for a text that is not JSON, or neither an object nor an array. */
  function parsedContent(text: string): ReturnType<typeof scan>['content'] {
    try {
      const value: unknown = JSON.parse(text);
      if (Array.isArray(value)) return value.length;
      return isObject(value) ? 'object' : undefined;
    } catch {
      return undefined;
    }
  }

  it.each([
    ['{"id":-12.50,"name":"é 😀/","list":[0,[],{}],"no":null,"yes":true,"never":false}', 'object'],
    [' \t\r\n[{"a":{}} , {"b":[0.1,10]},7]\n', 3],
    ['[]', 0],
    ['{}', 'object'],
  ])('of %j is certain', (text, content) => expect(scan(text).content).toBe(content));

  it.each([
    ['', '', ['[', ']', '{', '}', ',', ':', '"a"', '1', 'true']],
    ['[', ']', ['0', '1', '-', '.']],
    ['[', ']', ['n', 'u', 'l', 't', 'e', ' ']],
  ])('is what a parser finds: every text between %j and %j of up to five of %j', (start, end, tokens) => {
    const wrong: string[] = [];
    const check = (text: string, left: number) => {
      const isBegun = /^[[{]/.test(text);
      if (scan(text + end).content !== parsedContent(text + end)) wrong.push(text + end);
      if (left > 0 && (isBegun || left > 3)) for (const token of tokens) check(text + token, left - 1);
    };
    check(start, 5);
    expect(wrong).toEqual([]);
  });

  it('is certain only if a parser finds the same: any JSON with any change', () => {
    const ascii = fc.string({ unit: 'binary-ascii', maxLength: 1 });
    const change = fc.oneof(ascii, ascii, fc.constantFrom('\u00A0', '\u2028', '\uFEFF'));
    fc.assert(
      fc.property(json, fc.nat(), fc.nat(2), change, (value, at, cut, put) => {
        const sent = JSON.stringify(value);
        const start = at % (sent.length + 1);
        const text = sent.slice(0, start) + put + sent.slice(start + cut);
        const parsed = parsedContent(text);
        const { content = parsed } = scan(text);
        expect(content).toBe(parsed);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('a body beyond a limit is named with it', () => {
  const list = (element: string, count: number) => `[${Array(count).fill(element).join(',')}]`;

  it.each([
    ['depth', (size: number) => `${'['.repeat(size)}${']'.repeat(size)}`],
    ['structural', (size: number) => `{"a":${'[],'.repeat((size - 4) / 3)}}`],
    ['exactNumbers', (size: number) => `{"a":${list('1e400', size)}}`],
    ['longestName', (size: number) => `[{"${'n'.repeat(size)}":1}]`],
    ['largestRecord', (size: number) => `[{"a":"${'x'.repeat(size - 8)}"}]`],
    ['nonObjects', (size: number) => list('1', size)],
  ] as const)('%s', (measure, bodyOf) => {
    const { max, problem } = BODY_LIMITS[measure];
    expect(exceededLimit(scan(bodyOf(max)))).toBeUndefined();
    expect(exceededLimit(scan(bodyOf(max + (measure === 'structural' ? 3 : 1))))).toBe(problem);
  });
});
