import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { z } from 'zod';

const certificates = z.string().refine(
  parses((pem) => new X509Certificate(pem)),
  'must be certificates in PEM form (-----BEGIN CERTIFICATE-----)',
);

const privateKey = z.string().refine(
  parses((pem) => createPrivateKey(pem)),
  'must be a private key in PEM form without a passphrase',
);

/** Which authorities to trust and which certificate to present, as PEM text. No option turns verification off. */
export const tlsOptions = z
  .strictObject({
    /** The certificate authorities to trust instead of the public ones. */
    ca: certificates.optional(),
    /** The client certificate with its chain, for a destination that requests one. */
    certificate: certificates.optional(),
    key: privateKey.optional(),
    /** The name in the destination's certificate, if it differs from the host. */
    server_name: z.string().min(1, 'must be a host name').optional(),
  })
  .refine(
    ({ certificate, key }) => (certificate === undefined) === (key === undefined),
    'certificate and key must be set together',
  );

export type TlsOptions = z.output<typeof tlsOptions>;

/** The options for `tls.connect` and `https.Agent`: verified, at least TLS 1.2. */
export function tlsConnectionOptions(options: TlsOptions | undefined): ConnectionOptions {
  return {
    minVersion: 'TLSv1.2',
    // The default, but NODE_TLS_REJECT_UNAUTHORIZED would change it.
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
