import { X509Certificate } from 'node:crypto';
import { utimesSync } from 'node:fs';
import { Agent, request } from 'node:https';
import tls from 'node:tls';
import type { SecureVersion, TLSSocket } from 'node:tls';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readTlsFiles, watchTlsFiles } from '../../src/ingest/tls-files.ts';
import { hasOpenssl, type TestCertificate } from '../support/certificates.ts';
import { useCertificate } from '../support/use-certificate.ts';
import { waitFor } from '../support/wait-for.ts';
import { AUDIT, connectRaw, SECRET, serve } from './serve.ts';

describe.skipIf(!hasOpenssl)('TLS (needs openssl on PATH to make certificates)', () => {
  const [first, second] = [useCertificate('IP:127.0.0.1'), useCertificate('IP:127.0.0.1')];

  /** Posts a delivery, trusting both certificates. Gives the status, and which certificate was shown. */
  function post(port: number, agent = new Agent()) {
    return new Promise<{ status: number | undefined; shown: TestCertificate | undefined }>(
      (resolve, reject) => {
        const ca = [first.cert, second.cert];
        const headers = { authorization: `Bearer ${SECRET}` };
        const posted = request(
          { host: '127.0.0.1', port, path: AUDIT, method: 'POST', agent, ca, headers },
          (response) => {
            if (!isTls(response.socket)) throw new Error('the connection has no TLS');
            const { fingerprint256 } = response.socket.getPeerCertificate();
            const shown = [first, second].find(
              ({ cert }) => new X509Certificate(cert).fingerprint256 === fingerprint256,
            );
            response.resume().once('end', () => resolve({ status: response.statusCode, shown }));
          },
        );
        posted.once('error', reject).end('{}');
      },
    );
  }

  /** What a handshake with these options comes to: the version and the cipher, or why it fails in the place of both. */
  const greeting = (port: number, options: tls.ConnectionOptions) =>
    new Promise<{ readonly protocol: string; readonly cipher: string }>((resolve) => {
      const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options });
      socket.once('secureConnect', () =>
        resolve({ protocol: socket.getProtocol() ?? '', cipher: socket.getCipher().name }),
      );
      socket.once('error', (error: NodeJS.ErrnoException) => {
        const why = error.code ?? error.message;
        resolve({ protocol: why, cipher: why });
      });
      onTestFinished(() => void socket.destroy());
    });

  const isTls = (socket: object): socket is TLSSocket => 'getPeerCertificate' in socket;

  it('shows new connections another certificate, and open ones go on', async () => {
    const { port, server } = await serve({ tls: readTlsFiles(first) });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    expect(await post(port, agent)).toEqual({ status: 200, shown: first });
    server.useCertificate(readTlsFiles(second));
    expect(await post(port, agent)).toEqual({ status: 200, shown: first });
    expect(await post(port)).toEqual({ status: 200, shown: second });
  });

  it('speaks no version below 1.2, before and after its certificate changes', async () => {
    // What a command line may make of the defaults; OpenSSL speaks the old versions only at its lowest level.
    const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
    onTestFinished(() => void Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS }));
    Object.assign(tls, { DEFAULT_MIN_VERSION: 'TLSv1', DEFAULT_CIPHERS: 'DEFAULT@SECLEVEL=0' });
    const { port, server } = await serve({ tls: readTlsFiles(first) });
    const greet = async (maxVersion: SecureVersion) => (await greeting(port, { maxVersion })).protocol;
    for (const certificate of [undefined, readTlsFiles(second)]) {
      if (certificate !== undefined) server.useCertificate(certificate);
      expect(await greet('TLSv1.1')).toBe('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
      expect(await greet('TLSv1.2')).toBe('TLSv1.2');
      expect(await greet('TLSv1.3')).toBe('TLSv1.3');
    }
  });

  it('speaks TLS 1.2 only with forward secrecy and authenticated encryption', async () => {
    const { port } = await serve({ tls: readTlsFiles(first) });
    const greet = async (ciphers: string) =>
      (await greeting(port, { maxVersion: 'TLSv1.2', ciphers })).cipher;
    for (const weak of ['AES256-GCM-SHA384', 'kRSA', 'ECDHE+SHA', 'ECDHE+SHA384:!AESGCM', 'DHE']) {
      expect({ weak, answer: await greet(weak) }).toEqual({
        weak,
        answer: 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
      });
    }
    expect(await greet('DEFAULT')).toMatch(/^ECDHE-.*(?:GCM|POLY1305)/);
  });

  it('keeps its certificate when it is given none that can be used', async () => {
    const { port, server } = await serve({ tls: readTlsFiles(first) });
    const nothing = Buffer.from('nothing');
    expect(() => server.useCertificate({ cert: nothing, key: nothing })).toThrow('PEM');
    expect(() =>
      server.useCertificate(readTlsFiles({ certFile: first.certFile, keyFile: second.keyFile })),
    ).toThrow('key values mismatch');
    expect(await post(port)).toEqual({ status: 200, shown: first });
  });

  it('is not put over a plain listener', async () => {
    const { server } = await serve();
    expect(() => server.useCertificate(readTlsFiles(first))).toThrow('the listener has no TLS');
  });

  it('ends a connection that speaks plain HTTP or nonsense, and takes the next delivery', async () => {
    const { port, deliveries } = await serve({ tls: readTlsFiles(first) });
    for (const bytes of [`POST ${AUDIT} HTTP/1.1\r\nHost: x\r\n\r\n`, Buffer.alloc(1_000, 0x16)]) {
      await connectRaw(port, bytes).closed;
    }
    connectRaw(port);
    expect((await post(port)).status).toBe(200);
    expect(deliveries).toHaveLength(1);
  });

  it('files are watched for a change of either', async () => {
    const renewed = new Set<string>();
    onTestFinished(watchTlsFiles(first, () => void renewed.add('certificate')));
    onTestFinished(watchTlsFiles(second, () => void renewed.add('key')));
    // The watch may begin to look at a file after its first change, so it changes until it is seen.
    await waitFor(() => {
      for (const file of [first.certFile, second.keyFile]) utimesSync(file, new Date(), new Date());
      return renewed.size === 2;
    });
    expect([...renewed].toSorted()).toEqual(['certificate', 'key']);
  });

  it('files that cannot be read are named', () => {
    const missing = { certFile: '/nowhere/missing.crt', keyFile: first.keyFile };
    expect(() => readTlsFiles(missing)).toThrow(/TLS_CERT_FILE .*missing\.crt /);
  });
});
