import { stripVTControlCharacters } from 'node:util';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { formatTable, printTable, wrapBeside } from '../../src/commands/shared/output.ts';
import { printedBy } from '../support/printed.ts';
import { anyCharacter } from '../support/any-character.ts';

const { isTTY, columns: terminalWidth } = process.stdout;
beforeEach(() => {
  for (const name of ['FORCE_COLOR', 'NO_COLOR', 'NODE_DISABLE_COLORS']) vi.stubEnv(name, undefined);
});
afterEach(() => {
  process.stdout.isTTY = isTTY;
  process.stdout.columns = terminalWidth;
  vi.unstubAllEnvs();
});

/** Formats as if standard output were a terminal, or not. */
function format(columns: string[], rows: (string | null)[][], onTerminal = false): string {
  process.stdout.isTTY = onTerminal;
  return formatTable(columns, rows);
}

const BOLD = '\u001b[1m';

describe('a table in a pipe', () => {
  it('aligns its columns, and leaves no blanks at the end of a line', () => {
    expect(
      format(
        ['id', 'a name', ''],
        [
          ['1', 'x', null],
          ['22', 'a longer name', 'y'],
        ],
      ),
    ).toBe(['id  a name', '1   x', '22  a longer name  y'].join('\n'));
  });

  it('is as wide as its headings where the cells are narrower', () => {
    expect(format(['heading', 'b'], [['1', '2']])).toBe('heading  b\n1        2');
  });

  it('has its headings alone where there are no rows', () => {
    expect(format(['a', 'b'], [])).toBe('a  b');
  });

  it('has a row in one line, whatever its cells hold', () => {
    expect(format(['a'], [['one\r\n  two\n\n\nthree']])).toBe('a\none two three');
    const cell = fc.string({ unit: anyCharacter });
    fc.assert(
      fc.property(fc.array(fc.tuple(cell, cell)), (rows) => {
        expect(format(['a', 'b'], rows).split(/[\n\r]/)).toHaveLength(rows.length + 1);
      }),
    );
  });

  it('may have hundreds of thousands of rows', () => {
    const rows = Array.from({ length: 100_000 }, (_, n) => [String(n)]);
    expect(format(['n'], rows).split('\n')).toHaveLength(100_001);
  });
});

describe('a table on a terminal', () => {
  it('cuts long cells with an ellipsis', () => {
    const [, line = ''] = format(['a', 'b'], [['x'.repeat(81), 'y'.repeat(80)]], true).split('\n');
    expect(line).toBe(`${'x'.repeat(79)}…  ${'y'.repeat(80)}`);
  });

  it('cuts prose until the table fits, and no value that is to be copied', () => {
    process.stdout.columns = 80;
    const id = '01a21c2b-45a0-7000-b528-86a04babb79b';
    const text = format(
      ['id', 'reason', 'at'],
      [[id, 'the receiver does not know this index', '2026-11-27']],
      true,
    );
    expect(stripVTControlCharacters(text).split('\n')[1]).toBe(
      `${id}  the receiver does not know th…  2026-11-27`,
    );
  });

  it('has a block of lines for each row where it cannot fit', () => {
    process.stdout.columns = 40;
    const columns = ['first', 'second thing', 'third'];
    const text = format(
      columns,
      [
        ['a'.repeat(15), 'b'.repeat(15), 'c'.repeat(15)],
        ['1', null, '3'],
      ],
      true,
    );
    expect(stripVTControlCharacters(text).split('\n')).toEqual([
      `first         ${'a'.repeat(15)}`,
      `second thing  ${'b'.repeat(15)}`,
      `third         ${'c'.repeat(15)}`,
      '',
      'first         1',
      'second thing',
      'third         3',
      '',
    ]);
  });

  it('cuts no time, which has a space as prose has', () => {
    process.stdout.columns = 50;
    const time = '2026-11-27 15:00:55.962+00';
    const text = format(['at', 'reason'], [[time, 'the receiver does not know this index']], true);
    expect(stripVTControlCharacters(text).split('\n')[1]).toBe(`${time}  the receiver does not…`);
  });

  it('wraps prose beside an indentation, and leaves it whole in a pipe', () => {
    process.stdout.columns = 30;
    process.stdout.isTTY = true;
    expect(wrapBeside('    ', 'the receiver does not know this index')).toBe(
      'the receiver does not know\n    this index',
    );
    process.stdout.isTTY = false;
    expect(wrapBeside('    ', 'a '.repeat(40))).toBe('a '.repeat(40));
  });

  it('is never wider than the terminal, unless a single value is', () => {
    const cell = fc.string({ maxLength: 30 });
    fc.assert(
      fc.property(
        fc.array(fc.array(cell, { minLength: 6, maxLength: 6 })),
        fc.integer({ min: 60, max: 200 }),
        (rows, width) => {
          process.stdout.columns = width;
          const lines = stripVTControlCharacters(format(['a', 'b', 'c', 'd', 'e', 'f'], rows, true)).split(
            '\n',
          );
          expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
        },
      ),
    );
  });

  it('lets no text of an event steer the terminal', () => {
    const escape = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u0000\u007f\b';
    const [, line] = format(['a'], [[`before${escape}after`]], true).split('\n');
    expect(line).toBe(String.raw`before\u001b]0;owned\u0007\u001b[2J\u009b31m\u0000\u007f\u0008after`);
  });
});

describe('a printed table', () => {
  async function printed(columns: string[], rows: (string | null)[][], onTerminal = false): Promise<string> {
    process.stdout.isTTY = onTerminal;
    return stripVTControlCharacters((await printedBy(() => printTable(columns, rows))).out);
  }

  it('aligns wide characters, emoji and combining marks by the columns that they take', async () => {
    const names = ['日本語', '👩‍💻', 'e\u0301te\u0301', null, 'plain'];
    const rows = names.map((name) => [name, '1']);
    const lines = (await printed(['name', 'n'], rows)).trimEnd().split('\n');
    expect(lines).toEqual([
      'name    n',
      '日本語  1',
      '👩‍💻      1',
      'e\u0301te\u0301     1',
      '        1',
      'plain   1',
    ]);
  });

  it('cuts between whole characters on a terminal', async () => {
    const [, wide] = (await printed(['a'], [['日'.repeat(41)]], true)).split('\n');
    expect(wide).toBe(`${'日'.repeat(39)}…`);
    const [, emoji] = (await printed(['a'], [['👩‍💻'.repeat(40)]], true)).split('\n');
    expect(emoji).toBe('👩‍💻'.repeat(40));
  });
});

it('a heading is bold on a terminal only', () => {
  expect(format(['a'], [], true)).toContain(BOLD);
  expect(format(['a'], [])).toBe('a');
});
