import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, rootCertificates } from 'node:tls';
import type { Config } from '../../config/config.ts';
import { DAY_MS } from '../../lib/clock.ts';
import { describeError } from '../../lib/errors.ts';
import { countOf } from '../../lib/text/units.ts';
import { readTlsFiles, type TlsFiles } from '../../ingest/tls-files.ts';
import { fail, ok, warn, type Finding } from './check.ts';

/** Remaining days of validity below which a certificate is a warning, or a failure. */
const WARN_DAYS = 30;
const FAIL_DAYS = 7;

/** Checks the certificate that senders see: the configured one, else the one that a proxy presents at PUBLIC_URL. */
export async function checkCertificate({ tls, publicUrl }: Config, signal: AbortSignal): Promise<Finding> {
  const address = publicUrl === undefined ? undefined : new URL(publicUrl);
  if (tls !== undefined) return checkFiles(tls, address?.hostname);
  if (address?.protocol !== 'https:') return ok('no certificate configured: terminate TLS at a proxy');
  let presented: X509Certificate;
  try {
    presented = await certificateAt(address, signal);
  } catch (error) {
    return warn(
      `not configured, and ${address.host} presents none: ${describeError(error)}`,
      'see public address; without a proxy, set TLS_CERT_FILE and TLS_KEY_FILE',
    );
  }
  return checkNames(presented, address.hostname) ?? checkDays([presented], `of ${address.host}`);
}

function checkFiles(files: TlsFiles, host: string | undefined): Finding {
  const renew = `write a certificate with its chain to ${files.certFile}, and its key to ${files.keyFile}`;
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
  if (leaf === undefined) return fail(`${files.certFile} contains no certificate`, renew);
  if (!fits) return fail('the key does not match the certificate', renew);
  const days = checkDays(chain, files.certFile);
  if (days.status === 'fail') return days;
  return checkNames(leaf, host) ?? checkChain(chain) ?? days;
}

/** The certificates of a PEM file, the server's own first. Throws when one cannot be parsed. */
function readChain(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block));
}

function checkDays(chain: readonly X509Certificate[], which: string): Finding {
  const end = Math.min(...chain.map(({ validTo }) => Date.parse(validTo)));
  const begin = Math.max(...chain.map(({ validFrom }) => Date.parse(validFrom)));
  const date = new Date(end).toISOString().slice(0, 10);
  const days = Math.floor((end - Date.now()) / DAY_MS);
  const renew = 'renew the certificate: a running serve loads the new files within 5 s';
  if (Date.now() < begin) return fail(`${which} is not valid before ${new Date(begin).toISOString()}`, renew);
  if (days < 0) return fail(`${which} expired on ${date}`, renew);
  const validity = `${which} is valid for ${countOf(days, 'day')}, until ${date}`;
  if (days < FAIL_DAYS) return fail(validity, renew);
  return days < WARN_DAYS ? warn(validity, renew) : ok(validity);
}

function checkNames(leaf: X509Certificate, host: string | undefined): Finding | undefined {
  if (host === undefined) return undefined;
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const isNamed = isIP(address) === 0 ? leaf.checkHost(address) : leaf.checkIP(address);
  if (isNamed !== undefined) return undefined;
  return fail(
    `does not name ${host}, the host in PUBLIC_URL, but ${leaf.subjectAltName ?? leaf.subject}`,
    'get a certificate for this host, or correct PUBLIC_URL',
  );
}

/** A sender needs every certificate between ours and an authority that it trusts. */
function checkChain(chain: readonly X509Certificate[]): Finding | undefined {
  const broken = chain.find((one, index) => {
    const issuer = chain[index + 1];
    return issuer !== undefined && !one.checkIssued(issuer);
  });
  if (broken !== undefined) {
    return warn(
      `the chain is broken after ${oneName(broken)}`,
      'the file must contain the server certificate first, then its issuer, and so on',
    );
  }
  const last = chain.at(-1);
  if (last === undefined) return undefined;
  if (last.checkIssued(last)) {
    return chain.length > 1
      ? undefined
      : warn(
          'self-signed: senders do not trust it',
          'get a certificate from an authority that the cloud trusts',
        );
  }
  if (rootCertificates.some((root) => last.checkIssued(new X509Certificate(root)))) return undefined;
  return warn(
    `the chain ends with ${oneName(last)}, which is not signed by any authority known on this machine`,
    "append the authority's intermediate certificates to the file",
  );
}

const oneName = ({ subject }: X509Certificate) => subject.replaceAll('\n', ', ');

async function certificateAt(address: URL, signal: AbortSignal): Promise<X509Certificate> {
  const host = address.hostname.replace(/^\[(.*)\]$/, '$1');
  const port = Number(address.port || 443);
  // No data is sent, and an untrusted certificate has to be checked, too.
  const socket = connect({ host, port, servername: isIP(host) === 0 ? host : '', rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal });
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) throw new Error('the server presented no certificate');
    return certificate;
  } finally {
    socket.destroy();
  }
}

const REMEDY =
  'check that serve is running, that DNS points to this machine, and that firewall and proxy let requests through';

/** Checks that an xiq-sink answers at PUBLIC_URL, where the cloud sends to. */
export async function checkPublicAddress(config: Config, signal: AbortSignal): Promise<Finding> {
  const { publicUrl, sources } = config;
  if (publicUrl === undefined) {
    return sources.every(({ cloud }) => cloud === undefined)
      ? ok('PUBLIC_URL is not set: subscriptions are managed manually')
      : warn(
          'PUBLIC_URL is not set: subscriptions cannot be created',
          'set it to the https:// address that the cloud sends to',
        );
  }
  const url = `${publicUrl}/healthz`;
  let response: Response;
  try {
    response = await fetch(url, { redirect: 'manual', signal });
  } catch (error) {
    return fail(`${url} is not responding: ${describeError(error)}`, REMEDY);
  }
  const body = await response.text();
  if (response.status !== 200 || !body.includes('"status":"ok"')) {
    return fail(`${url} answers ${response.status}, but the answer is not from xiq-sink`, REMEDY);
  }
  return ok(`${url} answers requests from this machine (a firewall may still block the cloud)`);
}
