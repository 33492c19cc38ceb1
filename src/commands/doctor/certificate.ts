import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, rootCertificates } from 'node:tls';
import type { Config } from '../../config.ts';
import { describeError } from '../../errors.ts';
import { readTlsFiles } from '../../ingest/tls-files.ts';
import type { TlsFiles } from '../../ingest/tls-files.ts';
import { fail, ok, warn } from './check.ts';
import type { Finding } from './check.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Days that are left, below which something is to be done: soon, or now. */
const WARN_DAYS = 30;
const FAIL_DAYS = 7;

/**
 * Whether senders can trust who answers: the certificate of the settings, else the one that whoever stands in front
 * of us shows at PUBLIC_URL.
 */
export async function checkCertificate({ tls, publicUrl }: Config, signal: AbortSignal): Promise<Finding> {
  const address = publicUrl === undefined ? undefined : new URL(publicUrl);
  if (tls !== undefined) return checkFiles(tls, address?.hostname);
  if (address?.protocol !== 'https:') return ok('none is set: whatever stands in front of it has one');
  let shown: X509Certificate;
  try {
    shown = await certificateAt(address, signal);
  } catch (error) {
    return warn(
      `none is set here, and ${address.host} shows none: ${describeError(error)}`,
      'see public address; without a proxy in front, set TLS_CERT_FILE and TLS_KEY_FILE',
    );
  }
  return checkNames(shown, address.hostname) ?? checkDays([shown], `of ${address.host}`);
}

function checkFiles(files: TlsFiles, host: string | undefined): Finding {
  const renew = `put a certificate with its chain into ${files.certFile}, and its key into ${files.keyFile}`;
  let chain: X509Certificate[];
  let fits: boolean;
  try {
    const { cert, key } = readTlsFiles(files);
    chain = readChain(cert.toString());
    fits = chain[0]?.checkPrivateKey(createPrivateKey(key)) === true;
  } catch (error) {
    return fail(`cannot be used: ${describeError(error)}`, renew);
  }
  const [leaf] = chain;
  if (leaf === undefined) return fail(`${files.certFile} holds no certificate`, renew);
  if (!fits) return fail('the key does not belong to the certificate', renew);
  const days = checkDays(chain, files.certFile);
  if (days.status === 'fail') return days;
  return checkNames(leaf, host) ?? checkChain(chain) ?? days;
}

/** The certificates of a PEM file, the server's own first. Throws on one that cannot be read. */
function readChain(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

function checkDays(chain: readonly X509Certificate[], which: string): Finding {
  const end = Math.min(...chain.map(({ validTo }) => Date.parse(validTo)));
  const begin = Math.max(...chain.map(({ validFrom }) => Date.parse(validFrom)));
  const date = new Date(end).toISOString().slice(0, 10);
  const days = Math.floor((end - Date.now()) / DAY_MS);
  const renew = 'renew it: a running serve takes the new files within 5 s';
  if (Date.now() < begin) return fail(`${which} is not valid before ${new Date(begin).toISOString()}`, renew);
  if (days < 0) return fail(`${which} has expired on ${date}`, renew);
  const told = `${which} is valid for ${days} days, until ${date}`;
  if (days < FAIL_DAYS) return fail(told, renew);
  return days < WARN_DAYS ? warn(told, renew) : ok(told);
}

function checkNames(leaf: X509Certificate, host: string | undefined): Finding | undefined {
  if (host === undefined) return undefined;
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const isNamed = isIP(address) === 0 ? leaf.checkHost(address) : leaf.checkIP(address);
  if (isNamed !== undefined) return undefined;
  return fail(
    `is not for ${host}, the host of PUBLIC_URL, but for ${leaf.subjectAltName ?? leaf.subject}`,
    'get a certificate that names it, or correct PUBLIC_URL',
  );
}

/** A sender needs every certificate between ours and an authority that it knows. */
function checkChain(chain: readonly X509Certificate[]): Finding | undefined {
  const broken = chain.find((one, index) => {
    const issuer = chain[index + 1];
    return issuer !== undefined && !one.checkIssued(issuer);
  });
  if (broken !== undefined) {
    return warn(
      `the chain is broken behind ${oneName(broken)}`,
      'put into the file the server certificate first, then the one that signed it, and so on',
    );
  }
  const last = chain.at(-1);
  if (last === undefined) return undefined;
  if (last.checkIssued(last)) {
    return chain.length > 1
      ? undefined
      : warn(
          'is signed by itself: only who was told trusts it',
          'get one of an authority that the cloud knows',
        );
  }
  if (rootCertificates.some((root) => last.checkIssued(new X509Certificate(root)))) return undefined;
  return warn(
    `the chain ends with ${oneName(last)}, which no authority known here has signed`,
    'append the intermediate certificates of the authority to the file',
  );
}

const oneName = ({ subject }: X509Certificate) => subject.replaceAll('\n', ', ');

/** The certificate that is shown at an address, trusted or not. */
async function certificateAt(address: URL, signal: AbortSignal): Promise<X509Certificate> {
  const host = address.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(address.port || 443);
  // Nothing is sent: an untrusted certificate is to be looked at, too.
  const socket = connect({ host, port, servername: isIP(host) === 0 ? host : '', rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal });
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) throw new Error('the server has shown no certificate');
    return certificate;
  } finally {
    socket.destroy();
  }
}
