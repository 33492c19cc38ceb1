import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestCertificate } from '../../support/certificates.ts';
import { runReceiver } from './receiver.ts';

/** The server behind a proxy, as the arguments of the directive `server`. */
type Backend = `127.0.0.1:${number}${string}`;

/** Starts HAProxy with a port for TCP and one for TLS, before one server. By default, `retries` is 3, a second apart. */
export async function startHaproxy(
  command: string,
  directory: string,
  { port, tlsPort, backend, retries }: { port: number; tlsPort: number; backend: Backend; retries: number },
  { cert, key }: TestCertificate,
) {
  const configFile = path.join(directory, 'haproxy.cfg');
  const pemFile = path.join(directory, 'haproxy.pem');
  await writeFile(pemFile, cert + key, { mode: 0o600 });
  await writeFile(
    configFile,
    `
defaults
  mode tcp
  retries ${retries}
  timeout connect 5s
  timeout client 30s
  timeout server 30s
listen plain
  bind 127.0.0.1:${port}
  server behind ${backend}
listen secure
  bind 127.0.0.1:${tlsPort} ssl crt ${pemFile}
  server behind ${backend}
`,
  );
  const ports = { tcp: port, tls: tlsPort };
  const outputFile = path.join(directory, 'nothing.jsonl');
  return runReceiver({ command, args: ['-db', '-f', configFile], env: {}, ports, outputFile });
}
