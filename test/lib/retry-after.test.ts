import { describe, expect, test } from 'vitest';
import { readRetryAfter } from '../../src/lib/retry-after.ts';

describe('reading Retry-After', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');

  test.each([
    ['7', 7000],
    ['0', 0],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
    ['soon', undefined],
  ])('%s', (value, ms) => {
    expect(readRetryAfter(value, now)).toBe(ms);
  });

  test('an answer without it asks for nothing', () => {
    expect(readRetryAfter(null, now)).toBeUndefined();
  });
});
