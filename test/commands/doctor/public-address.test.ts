import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkCertificate } from '../../../src/commands/doctor/public-address.ts';
import type { Finding } from '../../../src/commands/doctor/check.ts';
import { loadConfig } from '../../../src/config/config.ts';
import { hasOpenssl, makeOwnCertificate, makeSignedCertificate } from '../../support/certificates.ts';
import type { TestCertificate } from '../../support/certificates.ts';
import { listen } from '../../support/listen.ts';

function made(certificate: TestCertificate): TestCertificate {
  onTestFinished(() => certificate[Symbol.dispose]());
  return certificate;
}

const signed = (days: number, ...names: string[]) => made(makeSignedCertificate(days, ...names));

/** What the doctor finds under these settings. */
const examine = (env: Record<string, string>) =>
  checkCertificate(loadConfig(env), AbortSignal.timeout(5_000));

/** The same, of a certificate that is served under the name sink.test. */
const examineFiles = ({ certFile, keyFile }: Pick<TestCertificate, 'certFile' | 'keyFile'>) =>
  examine({ TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, PUBLIC_URL: 'https://sink.test' });

const found = (status: Finding['status'], message: RegExp) => ({
  status,
  message: expect.stringMatching(message) as unknown,
});

/** The first certificate of a file alone. */
async function cutChain({ certFile, cert }: TestCertificate): Promise<void> {
  const end = '-----END CERTIFICATE-----\n';
  await writeFile(certFile, cert.slice(0, cert.indexOf(end) + end.length));
}

describe.skipIf(!hasOpenssl)('the certificate of the settings', () => {
  it.each([
    [-1, 'fail', /expired on 20/],
    [3, 'fail', /is valid for [23] days/],
    [20, 'warn', /is valid for (?:19|20) days/],
    [90, 'ok', /is valid for (?:89|90) days/],
  ] as const)('with %i days left is: %s', async (days, status, message) => {
    expect(await examineFiles(signed(days, 'DNS:sink.test'))).toMatchObject(found(status, message));
  });

  it('is a failure when it names another host, or the key is another one, or a file is not there', async () => {
    const other = signed(90, 'DNS:other.test');
    expect(await examineFiles(other)).toMatchObject(found('fail', /does not name sink.test.*DNS:other.test/));
    const { certFile } = signed(90, 'DNS:sink.test');
    const { keyFile } = other;
    expect(await examineFiles({ certFile, keyFile })).toMatchObject(found('fail', /the key does not match/));
    expect(await examineFiles({ certFile: '/nowhere', keyFile })).toMatchObject(
      found('fail', /Can't read TLS_CERT_FILE \/nowhere \(no such file or directory\)\.$/),
    );
  });

  it('is a warning when senders cannot follow it to an authority', async () => {
    const alone = signed(90, 'DNS:sink.test');
    await cutChain(alone);
    expect(await examineFiles(alone)).toMatchObject(
      found('warn', /not signed by any authority known on this machine/),
    );
    const wrong = signed(90, 'DNS:sink.test');
    await cutChain(wrong);
    await writeFile(wrong.certFile, signed(90, 'DNS:x.test').cert, { flag: 'a' });
    expect(await examineFiles(wrong)).toMatchObject(found('warn', /chain is broken after CN=server/));
  });

  it('that has signed itself is trusted by nobody', async () => {
    const own = made(makeOwnCertificate(90, 'DNS:sink.test'));
    expect(await examineFiles(own)).toMatchObject(found('warn', /self-signed/));
  });
});

describe.skipIf(!hasOpenssl)('the certificate that a proxy shows', () => {
  it('is looked at, at PUBLIC_URL', async () => {
    const { cert, key } = signed(20, 'DNS:localhost');
    const server = createServer({ cert, key });
    const port = await listen(server);
    onTestFinished(() => void server.close());
    const at = (host: string) => examine({ PUBLIC_URL: `https://${host}:${port}` });
    expect(await at('localhost')).toMatchObject(found('warn', /localhost:\d+ is valid for (?:19|20) days/));
    expect(await at('127.0.0.1')).toMatchObject(found('fail', /does not name 127\.0\.0\.1/));
    server.close();
    await once(server, 'close');
    expect(await at('localhost')).toMatchObject(found('warn', /ECONNREFUSED/));
  });
});
