import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');

/** The lines of the table, each with its threat and the tests it names: a file and a title in quotation marks. */
const lines = read('docs/security.md')
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\|[\s|-]*\|$/.test(line))
  .slice(1)
  .map((line) => {
    const [, threat = '', measure = '', evidence = ''] = line.split('|').map((cell) => cell.trim());
    const tests = [...evidence.matchAll(/`(test\/[\w./-]+)` "([^"]+)"/g)];
    return { threat, measure, tests: tests.map(([, file = '', title = '']) => ({ file, title })) };
  });

describe('the threat model', () => {
  it('has its lines', () => {
    expect(lines.length).toBeGreaterThan(20);
  });

  it.each(lines)('says what is done and which test shows it: $threat', ({ threat, measure, tests }) => {
    expect(threat).not.toBe('');
    expect(measure).not.toBe('');
    expect(tests).not.toEqual([]);
  });

  it.each(lines.flatMap(({ tests }) => tests))('names an existing test: $file, $title', ({ file, title }) => {
    expect(existsSync(path.join(ROOT, file))).toBe(true);
    const titles = [`'${title}'`, `"${title}"`, `\`${title}\``];
    expect(titles.filter((quoted) => read(file).includes(`${quoted},`))).toHaveLength(1);
  });
});
