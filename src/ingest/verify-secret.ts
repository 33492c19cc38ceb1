import { createHmac, hash, timingSafeEqual, type Hmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { SourceConfig } from '../config/sources.ts';
import type { SecretForm } from '../events/domain.ts';

/** A configured secret: the digest to compare with, and the key of signatures. */
interface KnownSecret {
  readonly digest: Buffer;
  readonly secret: string;
}

/** The secrets of a source, and the Authorization header that was last proven right, which senders repeat. */
interface Verification {
  readonly secrets: readonly KnownSecret[];
  /** Digest of the header. */
  proven: Buffer;
  form: SecretForm | undefined;
}

interface OfferedSecret {
  readonly form: SecretForm;
  readonly value: string;
}

type KnownSource = Pick<SourceConfig, 'name' | 'secrets'>;

const SIGNATURE_HEADER = 'x-hub-signature-256';

/** A stranger can send large bodies with a wrong signature: this much takes a millisecond or two for each secret. */
const BYTES_A_TURN = 256 * 1024;

/** Larger bodies are verified one after another. Together, their parts would hold up the event loop again. */
const verifyingLarge = pLimit(1);

const NO_DIGEST = Buffer.alloc(64);

/** It pads the list of every source to the same length, and is the whole list of an unknown source. */
const NO_SECRET: KnownSecret = { digest: NO_DIGEST, secret: '' };

/**
 * Checks deliveries of the configured sources. The cloud does not document how it presents the secret, so every form seen by
 * receivers is accepted. Digests of equal length are compared in constant time, and every configured secret is tried for
 * every guess: the time of an answer reveals neither how close a guess was nor whether the source exists. Only a header that
 * is right is recognized sooner, the second time.
 */
export class SecretVerifier {
  #sources: ReturnType<typeof digestsOf>;

  constructor(sources: readonly KnownSource[]) {
    this.#sources = digestsOf(sources);
  }

  /** Replaces all sources. Requests whose secret is verified already are not affected. */
  use(sources: readonly KnownSource[]): void {
    this.#sources = digestsOf(sources);
  }

  /** The form of the correct secret in the headers; undefined if there is none. */
  verifyHeaders(source: string, headers: IncomingHttpHeaders): SecretForm | undefined {
    const verification = this.#verificationOf(source);
    const { authorization } = headers;
    const header = authorization === undefined ? NO_DIGEST : sha256(authorization);
    if (timingSafeEqual(header, verification.proven) && verification.form !== undefined) {
      return verification.form;
    }
    let form: SecretForm | undefined;
    for (const offered of offeredSecrets(headers)) {
      const digest = sha256(offered.value);
      for (const secret of verification.secrets) {
        if (timingSafeEqual(digest, secret.digest)) form ??= offered.form;
      }
    }
    if (form !== undefined && form !== 'header') {
      verification.proven = header;
      verification.form = form;
    }
    return form;
  }

  /** Whether the signature over the body, as it came over the wire, is correct. */
  async verifySignature(source: string, headers: IncomingHttpHeaders, body: Buffer): Promise<boolean> {
    const offered = Buffer.from(String(headers[SIGNATURE_HEADER]).replace(/^sha256=/, ''), 'hex');
    const candidate = offered.length === 32 ? offered : Buffer.alloc(32);
    const { secrets } = this.#verificationOf(source);
    const keyed = secrets.map(({ secret }) => ({ secret, hmac: createHmac('sha256', secret) }));
    const hmacs = keyed.map(({ hmac }) => hmac);
    if (body.length > BYTES_A_TURN) await verifyingLarge(updateAll, hmacs, body);
    else await updateAll(hmacs, body);
    let right = false;
    for (const { secret, hmac } of keyed) {
      if (timingSafeEqual(hmac.digest(), candidate) && secret !== '') right = true;
    }
    return right;
  }

  #verificationOf(source: string): Verification {
    return this.#sources.known.get(source) ?? this.#sources.unknown;
  }
}

/** Whether the headers contain anything that may be a secret. */
export const offersSecret = (headers: IncomingHttpHeaders) => offeredSecrets(headers).length > 0;

/** Whether the headers contain a signature, which needs the body to be verified. */
export const isSigned = (headers: IncomingHttpHeaders) => typeof headers[SIGNATURE_HEADER] === 'string';

function digestsOf(sources: readonly KnownSource[]) {
  const longest = sources.reduce((most, { secrets }) => Math.max(most, secrets.length), 0);
  const padding = Array.from({ length: longest }, () => NO_SECRET);
  const verify = (secrets: readonly KnownSecret[]): Verification => ({
    secrets: [...secrets, ...padding.slice(secrets.length)],
    proven: NO_DIGEST,
    form: undefined,
  });
  const known = new Map<string, Verification>();
  for (const { name, secrets } of sources) {
    if (secrets.length === 0) throw new Error(`source "${name}" has no secret`);
    known.set(name, verify(secrets.map((secret) => ({ digest: sha256(secret), secret }))));
  }
  return { known, unknown: verify([]) };
}

/** Other work has its turn after each part of a large body. */
async function updateAll(hmacs: readonly Hmac[], body: Buffer): Promise<void> {
  for (let at = 0; at < body.length; at += BYTES_A_TURN) {
    if (at > 0) await nextTurn();
    const part = body.subarray(at, at + BYTES_A_TURN);
    for (const hmac of hmacs) hmac.update(part);
  }
}

function offeredSecrets(headers: IncomingHttpHeaders): OfferedSecret[] {
  const offered: OfferedSecret[] = [];
  const { authorization } = headers;
  if (authorization !== undefined) {
    const [, scheme = '', rest = ''] = /^(\S+) +(\S.*)?$/.exec(authorization) ?? [];
    switch (scheme.toLowerCase()) {
      case 'basic':
        offered.push(...basicSecrets(rest));
        break;
      case 'bearer':
        offered.push({ form: 'bearer', value: rest });
        break;
      // A secret contains no space, so the whole header is a secret only if it has no scheme.
      case '':
        offered.push({ form: 'raw', value: authorization });
        break;
    }
  }
  const header = headers['x-webhook-secret'];
  if (typeof header === 'string') offered.push({ form: 'header', value: header });
  return offered;
}

/**
 * RFC 7617: the user name ends at the first colon, and the password may contain more colons. A sender may also omit the
 * name, or send a secret that is a name with its password.
 */
function basicSecrets(encoded: string): OfferedSecret[] {
  const decoded = Buffer.from(encoded, 'base64').toString();
  const password = decoded.slice(decoded.indexOf(':') + 1);
  return [
    { form: 'basic', value: password },
    { form: 'basic', value: decoded },
    { form: 'basic', value: encoded },
  ];
}

/** The digest in hexadecimal digits: they cost half of a digest that Node.js puts into a buffer. */
const sha256 = (text: string) => Buffer.from(hash('sha256', text), 'latin1');
