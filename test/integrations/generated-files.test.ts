import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { integrationFiles } from '../../integrations/build.ts';

test.each([...integrationFiles()])('%s is what node integrations/build.ts writes', (file, text) => {
  expect(readFileSync(new URL(`../../integrations/${file}`, import.meta.url), 'utf8')).toBe(text);
});
