import { expect, it } from 'vitest';
import { redisForTest } from '../support/for-one-test.ts';
import { freePort } from '../support/free-port.ts';
import { openLoad } from '../support/redis-load.ts';
import { useCertificate } from '../support/use-certificate.ts';
import { waitFor } from '../support/wait-for.ts';

const certificate = useCertificate('IP:127.0.0.1');

it('over TLS, Redis is trusted with the CA file, and not without', async () => {
  const port = await freePort();
  const { certFile, keyFile } = certificate;
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', certFile];
  await redisForTest('--tls-port', String(port), '--tls-auth-clients', 'no', ...files);
  const url = `rediss://127.0.0.1:${port}`;
  const trusting = await openLoad({ kind: 'redis', url, caFile: certFile });
  trusting.startWorker();
  await trusting.send();
  expect(trusting.figures()).toMatchObject({ queued: 1 });
  await waitFor(() => trusting.missing() === 0);
  const suspicious = await openLoad({ kind: 'redis', url });
  await suspicious.send();
  expect(suspicious.figures()).toMatchObject({ spooled: 1 });
  await waitFor(() => suspicious.log().includes('self-signed certificate'));
});
