import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { openSecret, sealSecret, secretsKeyOf } from '../../src/config/sealed-secret.ts';

const KEY = secretsKeyOf(Buffer.alloc(32, 1));
const OTHER = secretsKeyOf(Buffer.alloc(32, 2));

it('a sealed secret opens with its key among others, for its subject alone', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (secret) => {
      const sealed = sealSecret(secret, 'source a', KEY);
      expect(openSecret(sealed, 'source a', [OTHER, KEY])).toBe(secret);
      expect(() => openSecret(sealed, 'source b', [KEY])).toThrow('belongs to another name');
      expect(() => openSecret(sealed, 'source a', [OTHER])).toThrow(`a key that is not in SECRETS_KEY`);
      expect(() => openSecret(sealed, 'source a', [])).toThrow('SECRETS_KEY is not set');
    }),
  );
});

it('is another text each time, and contains neither the secret nor the key', () => {
  const texts = [1, 2].map(() => sealSecret('the-secret-of-a-source', 'source a', KEY));
  expect(new Set(texts).size).toBe(2);
  for (const text of texts) {
    const bytes = Buffer.from(text.split('.')[2] ?? '', 'base64url');
    expect(bytes.includes('the-secret')).toBe(false);
    expect(bytes.includes(KEY.key)).toBe(false);
  }
});

it('does not open after any byte has changed, or when it was cut', () => {
  const sealed = sealSecret('the-secret-of-a-source', 'source a', KEY);
  const [version, id, content = ''] = sealed.split('.');
  const bytes = Buffer.from(content, 'base64url');
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    const text = [version, id, changed.toString('base64url')].join('.');
    expect(() => openSecret(text, 'source a', [KEY])).toThrow('was changed');
    const cut = [version, id, bytes.subarray(0, at).toString('base64url')].join('.');
    expect(() => openSecret(cut, 'source a', [KEY])).toThrow('was changed');
  }
});
