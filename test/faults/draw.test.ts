import { expect, test } from 'vitest';
import { createRandom } from '../../emulator/random.ts';
import { drawFault } from './draw.ts';
import { createPayloads } from './payloads.ts';

const drawn = (seed: number) => drawFault('redis-queue', createRandom(seed, 'draw'));

test('a draw is of two or three faults that hit different parts, and repeats itself', () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const { name, hits } = drawn(seed);
    expect(name).toBe(drawn(seed).name);
    expect(name.split(' + ').length).toBeOneOf([2, 3]);
    expect(new Set(hits).size).toBe(hits.length);
    expect(name).not.toMatch(/flush|disk|clock|down/);
  }
});

test('draws differ', () => {
  expect(new Set(Array.from({ length: 50 }, (_, seed) => drawn(seed).name)).size).toBeGreaterThan(10);
});

test('no number is given twice, except to a body that is sent again as it was', () => {
  const payloads = createPayloads(createRandom(1, 'payloads'));
  const bodies = new Map<number, string>();
  let again = 0;
  for (let count = 0; count < 5_000; count += 1) {
    const payload = payloads.next();
    payloads.acknowledged(payload);
    for (const number of payload.numbers) {
      if (bodies.has(number)) again += 1;
      expect(bodies.get(number) ?? payload.body).toBe(payload.body);
      bodies.set(number, payload.body);
    }
  }
  expect(again).toBeGreaterThan(50);
});
