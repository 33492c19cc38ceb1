import { afterAll, expect, it } from 'vitest';
import { makeCertificate } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { openLoad } from '../support/redis-load.ts';
import { startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const certificate = makeCertificate('IP:127.0.0.1');
afterAll(() => certificate[Symbol.dispose]());

it('over TLS, Redis is trusted with the CA file, and not without', async () => {
  const port = await freePort();
  const files = ['--tls-cert-file', certificate.certFile, '--tls-key-file', certificate.keyFile];
  const tls = [
    '--tls-port',
    String(port),
    '--tls-auth-clients',
    'no',
    '--tls-ca-cert-file',
    certificate.certFile,
  ];
  const redis = await startRedis(undefined, [...tls, ...files]);
  const url = `rediss://127.0.0.1:${port}`;
  const trusting = await openLoad({ kind: 'redis', url, caFile: certificate.certFile });
  trusting.startWorker();
  await trusting.send();
  expect(trusting.figures()).toMatchObject({ queued: 1 });
  await waitFor(() => trusting.missing() === 0);
  await trusting.close();
  const suspicious = await openLoad({ kind: 'redis', url });
  await suspicious.send();
  expect(suspicious.figures()).toMatchObject({ spooled: 1 });
  await waitFor(() => suspicious.log().includes('self-signed certificate'));
  await suspicious.close();
  await redis.stop();
});
