import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { Agent, request } from 'node:https';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import type { PeerCertificate, SecureVersion, TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readTlsFiles, watchTlsFiles } from '../../src/ingest/tls-files.ts';
import { waitFor } from '../support/wait-for.ts';
import { AUDIT, connectRaw, SECRET, serve } from './serve.ts';

const hasOpenssl = (() => {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

describe.skipIf(!hasOpenssl)('TLS (needs openssl on PATH to make certificates)', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(path.join(os.tmpdir(), 'xiq-sink-tls-'));
    for (const name of ['first', 'second']) makeCertificate(name);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const filesOf = (name: string) => ({
    certFile: path.join(directory, `${name}.crt`),
    keyFile: path.join(directory, `${name}.key`),
  });

  function makeCertificate(name: string): void {
    const { certFile, keyFile } = filesOf(name);
    const options = [
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
    ];
    const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
    execFileSync('openssl', ['req', ...options, ...subject, '-keyout', keyFile, '-out', certFile], {
      stdio: 'ignore',
    });
  }

  const load = (name: string) => readTlsFiles(filesOf(name));

  /** Posts a delivery, trusting both certificates. Gives the status, and whose certificate was shown. */
  function post(port: number, agent = new Agent()) {
    return new Promise<{ status: number | undefined; name: unknown }>((resolve, reject) => {
      const ca = [load('first').cert, load('second').cert];
      const headers = { authorization: `Bearer ${SECRET}` };
      const posted = request(
        { host: '127.0.0.1', port, path: AUDIT, method: 'POST', agent, ca, headers },
        (response) => {
          const shown = certificateOf(response.socket);
          response
            .resume()
            .once('end', () => resolve({ status: response.statusCode, name: shown.subject.CN }));
        },
      );
      posted.once('error', reject).end('{}');
    });
  }

  /** The certificate of the other end of a TLS connection. */
  function certificateOf(socket: object): PeerCertificate {
    if (!isTls(socket)) throw new Error('the connection has no TLS');
    return socket.getPeerCertificate();
  }

  const isTls = (socket: object): socket is TLSSocket => 'getPeerCertificate' in socket;

  it('takes deliveries', async () => {
    const { port, deliveries } = await serve({ tls: load('first') });
    expect(await post(port)).toEqual({ status: 200, name: 'first' });
    expect(deliveries).toMatchObject([{ records: '[{}]', secretForm: 'bearer' }]);
  });

  it('shows new connections another certificate, and open ones go on', async () => {
    const { port, server } = await serve({ tls: load('first') });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    expect(await post(port, agent)).toEqual({ status: 200, name: 'first' });
    server.useCertificate(load('second'));
    expect(await post(port, agent)).toEqual({ status: 200, name: 'first' });
    expect(await post(port)).toEqual({ status: 200, name: 'second' });
  });

  it('speaks no version below 1.2, before and after its certificate changes', async () => {
    // What a command line may make of the defaults; OpenSSL speaks the old versions only at its lowest level.
    const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls;
    onTestFinished(() => void Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS }));
    Object.assign(tls, { DEFAULT_MIN_VERSION: 'TLSv1', DEFAULT_CIPHERS: 'DEFAULT@SECLEVEL=0' });
    const { port, server } = await serve({ tls: load('first') });
    const greet = (maxVersion: SecureVersion) =>
      new Promise<string>((resolve) => {
        const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, maxVersion });
        socket.once('secureConnect', () => resolve(socket.getProtocol() ?? ''));
        socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
        onTestFinished(() => void socket.destroy());
      });
    for (const certificate of [undefined, load('second')]) {
      if (certificate !== undefined) server.useCertificate(certificate);
      expect(await greet('TLSv1.1')).toBe('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
      expect(await greet('TLSv1.2')).toBe('TLSv1.2');
      expect(await greet('TLSv1.3')).toBe('TLSv1.3');
    }
  });

  it('keeps its certificate when it is given none that can be used', async () => {
    const { port, server } = await serve({ tls: load('first') });
    const nothing = Buffer.from('nothing');
    expect(() => server.useCertificate({ cert: nothing, key: nothing })).toThrow('PEM');
    expect(() => server.useCertificate({ cert: load('first').cert, key: load('second').key })).toThrow(
      'key values mismatch',
    );
    expect(await post(port)).toEqual({ status: 200, name: 'first' });
  });

  it('is not put over a plain listener', async () => {
    const { server } = await serve();
    expect(() => server.useCertificate(load('first'))).toThrow('the listener has no TLS');
  });

  it('ends a connection that speaks plain HTTP or nonsense, and takes the next delivery', async () => {
    const { port, deliveries } = await serve({ tls: load('first') });
    for (const bytes of [`POST ${AUDIT} HTTP/1.1\r\nHost: x\r\n\r\n`, Buffer.alloc(1_000, 0x16)]) {
      await connectRaw(port, bytes).closed;
    }
    connectRaw(port);
    expect((await post(port)).status).toBe(200);
    expect(deliveries).toHaveLength(1);
  });

  it('files are watched for a change of either', async () => {
    const watched = ['certFile', 'keyFile'] as const;
    const renewed = new Set<string>();
    for (const which of watched) {
      makeCertificate(which);
      onTestFinished(watchTlsFiles(filesOf(which), () => void renewed.add(which)));
    }
    // The watch may begin to look at a file after its first change, so it changes until it is seen.
    await waitFor(() => {
      for (const which of watched) utimesSync(filesOf(which)[which], new Date(), new Date());
      return renewed.size === 2;
    });
    expect([...renewed].toSorted()).toEqual(watched);
  });

  it('files that cannot be read are named', () => {
    expect(() => load('missing')).toThrow(/^can't read TLS_CERT_FILE .*missing\.crt$/);
  });
});
