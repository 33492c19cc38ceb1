import { expect, test } from 'vitest';
import { closestName } from '../../../src/lib/text/closest-name.ts';

const KNOWN = ['since', 'until', 'user', 'message_type', 'ap'];

test.each([
  ['usr', 'user'],
  ['USER', 'user'],
  ['untill', 'until'],
  ['mesage_typ', 'message_type'],
  ['sicne', 'since'],
])('%s most likely means %s', (written, meant) => {
  expect(closestName(written, KNOWN)).toBe(meant);
});

test.each(['colour', 'x', '', 'q'])('"%s" means none of them', (written) => {
  expect(closestName(written, KNOWN)).toBeUndefined();
});
