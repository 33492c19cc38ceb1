import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { plantIn, PLANTS } from './plants.ts';

it.each(PLANTS)('there is still a place for the planted fault $name', (plant) => {
  const source = readFileSync(new URL(`../../src/${plant.file}`, import.meta.url), 'utf8');
  expect(plantIn(source, plant)).not.toBe(source);
});
