import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { z } from 'zod';

const certificates = z.string().refine(
  parses((pem) => new X509Certificate(pem)),
  'takes certificates in PEM form (-----BEGIN CERTIFICATE-----)',
);

const privateKey = z.string().refine(
  parses((pem) => createPrivateKey(pem)),
  'takes a private key in PEM form without a passphrase',
);

/** Whom to trust, and what to show. All are PEM texts, not file names; none of them turns the verification off. */
export const tlsOptions = z
  .strictObject({
    /** The authorities to trust, instead of the public ones. */
    ca: certificates.optional(),
    /** Our own certificate with its chain, for a destination that asks for one. */
    certificate: certificates.optional(),
    key: privateKey.optional(),
    /** The name that the destination's certificate has to bear, where it is not the host's. */
    server_name: z.string().min(1, 'takes a host name').optional(),
  })
  .refine(
    ({ certificate, key }) => (certificate === undefined) === (key === undefined),
    'takes certificate and key, both or neither',
  );

export type TlsOptions = z.output<typeof tlsOptions>;

/** The options for `tls.connect` and `https.Agent`: verified, at least TLS 1.2. */
export function tlsConnectionOptions(options: TlsOptions | undefined): ConnectionOptions {
  return {
    minVersion: 'TLSv1.2',
    // Said although it is the default: NODE_TLS_REJECT_UNAUTHORIZED would change that.
    rejectUnauthorized: true,
    ...(options?.ca === undefined ? {} : { ca: options.ca }),
    ...(options?.certificate === undefined ? {} : { cert: options.certificate }),
    ...(options?.key === undefined ? {} : { key: options.key }),
    ...(options?.server_name === undefined ? {} : { servername: options.server_name }),
  };
}

function parses(parse: (text: string) => unknown): (text: string) => boolean {
  return (text) => {
    try {
      parse(text);
      return true;
    } catch {
      return false;
    }
  };
}
