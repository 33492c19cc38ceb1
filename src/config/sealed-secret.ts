import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';
import { describeError, UsageError } from '../lib/errors.ts';

/** A key of the setting SECRETS_KEY, and the id by which a sealed secret names it. */
export interface SecretsKey {
  readonly id: string;
  readonly key: Buffer;
}

/** The key for AES-256-GCM, derived from the 32 bytes of the setting. */
export function secretsKeyOf(bytes: Buffer): SecretsKey {
  const key = Buffer.from(hkdfSync('sha256', bytes, '', 'xiq-sink: secrets of sources', 32));
  return { id: hash('sha256', key, 'hex').slice(0, 8), key };
}

/** Encrypts a secret with the first key. It can be opened for the same subject only, such as the name of its source. */
export function sealSecret(secret: string, subject: string, { id, key }: SecretsKey): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(subject));
  const content = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()]);
  return ['v1', id, Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64url')].join('.');
}

/**
 * The secret as it is stored. Throws a UsageError if there is no key; `otherwise` is what a person can do without one.
 */
export function sealedReference(
  secret: string,
  subject: string,
  [key]: readonly SecretsKey[],
  otherwise: string,
): { sealed: string } {
  if (key !== undefined) return { sealed: sealSecret(secret, subject, key) };
  throw new UsageError(
    `cannot store the secret: set SECRETS_KEY for all processes (try: openssl rand -base64 32), or ${otherwise}`,
  );
}

/** Opens a sealed secret. Throws an error that says which key is missing, or that the text was changed. */
export function openSecret(sealed: string, subject: string, keys: readonly SecretsKey[]): string {
  const [version, id, content = ''] = sealed.split('.');
  const key = keys.find((one) => one.id === id);
  if (version !== 'v1') throw new Error('the encrypted secret has an unknown format');
  if (key === undefined) {
    throw new Error(
      keys.length === 0
        ? 'the secret is encrypted, but SECRETS_KEY is not set'
        : `the secret is encrypted with a key that is not in SECRETS_KEY (id ${id})`,
    );
  }
  const bytes = Buffer.from(content, 'base64url');
  try {
    const decipher = createDecipheriv('aes-256-gcm', key.key, bytes.subarray(0, 12), { authTagLength: 16 })
      .setAAD(Buffer.from(subject))
      .setAuthTag(bytes.subarray(12, 28));
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
  } catch (cause) {
    throw new Error(`the encrypted secret was changed, or belongs to another name: ${describeError(cause)}`, {
      cause,
    });
  }
}
