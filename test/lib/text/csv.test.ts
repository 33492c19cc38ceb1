import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { csvLine, guardFormula } from '../../../src/lib/text/csv.ts';
import { revealHidden } from '../../../src/lib/text/hidden-characters.ts';
import { parseCsv } from '../../store/events/parse-csv.ts';

it('CSV is what RFC 4180 reads back as the same, with hidden characters shown', () => {
  const cell = fc.oneof(
    fc.string(),
    fc.constantFrom('"', ',', '\n', '\r', '\r\n', '""', ' x ', 'a"b,c\r\nd'),
  );
  fc.assert(
    fc.property(fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { minLength: 1 }), (rows) => {
      expect(parseCsv(rows.map(csvLine).join(''))).toEqual(rows.map((row) => row.map(revealHidden)));
    }),
    { numRuns: 500 },
  );
});

it('CSV quotes only what needs it, and tells null from an empty text', () => {
  expect(csvLine([null, 'x', '', 'y,z'])).toBe(',x,"","y,z"\r\n');
});

const SIGNS = ['=', '+', '-', '@', '\uFF1D', '\uFF0B', '\uFF0D', '\uFF20'];
const BLANKS = ['', ' ', '  ', '\n', '\r\n', '\t ', '\u00A0', '\u3000'];

it.each([
  ...SIGNS.flatMap((sign) => BLANKS.map((blank) => `${blank}${sign}1+1`)),
  '@SUM(A1)',
  '\tx',
  '\rx',
  '\nx',
])('the text %j is no formula for a spreadsheet', (text) => {
  expect(guardFormula(text)).toBe(`'${text}`);
});

it.each(['', 'a=b', '1-1', "'x", ' x', ' 1-1', '5', '\uFF21'])('the text %j needs no guard', (text) => {
  expect(guardFormula(text)).toBe(text);
});
