import { expect, it } from 'vitest';
import { createSecrets } from '../../src/lib/secrets.ts';

it('hides every secret, as it is and as JSON has it, however often it occurs', () => {
  const { add, hide } = createSecrets(['one "quoted"', undefined, '']);
  add('two');
  expect(hide('one "quoted", two, two and {"a":"one \\"quoted\\""}')).toBe(
    '[hidden], [hidden], [hidden] and {"a":"[hidden]"}',
  );
});

it('hides a secret whole that begins as another one', () => {
  for (const secrets of [
    ['secret', 'secret-2027'],
    ['secret-2027', 'secret'],
  ]) {
    expect(createSecrets(secrets).hide('it is secret-2027, not secret')).toBe('it is [hidden], not [hidden]');
  }
});
