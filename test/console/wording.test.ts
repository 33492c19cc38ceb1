import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { findBanned } from '../support/banned-phrases.ts';

it('no module or page of the console contains a banned phrase, comments included', () => {
  const directory = path.resolve(import.meta.dirname, '../../src/console');
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.[jt]s$/.test(name),
  );
  expect(files.length).toBeGreaterThan(50);
  const found = files.flatMap((name) =>
    findBanned(readFileSync(path.join(directory, name), 'utf8')).map((one) => ({ name, ...one })),
  );
  expect(found).toEqual([]);
});

it('finds a banned phrase across lines and whatever its case, and says what to write', () => {
  expect(findBanned('<h1>This CANNOT be\n  asked so</h1>')).toEqual([
    { phrase: 'CANNOT be asked so', instead: 'Invalid query', context: '<h1>This CANNOT be asked so</h1>' },
  ]);
  expect(findBanned('1 event of 21 events, 1,001 events')).toEqual([]);
  expect(findBanned('Its 1 events')).toHaveLength(1);
});
