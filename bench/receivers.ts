import { once } from 'node:events';
import { createServer as createHttpsServer } from 'node:https';
import { createServer } from 'node:net';
import type { Server } from 'node:net';
import path from 'node:path';
import { makeCertificate } from '../test/support/certificates.ts';
import type { Place } from './targets/target.ts';

/** A destination as the settings have it. */
export interface DestinationSetting {
  readonly name: string;
  readonly [option: string]: unknown;
}

/** Starts receivers that read and forget, for as long as the place lasts, and gives the destinations that they are. */
export async function startReceivers(place: Place): Promise<readonly DestinationSetting[]> {
  const certificate = makeCertificate('IP:127.0.0.1');
  place.cleanup.use(certificate);
  const syslog = createServer({ allowHalfOpen: true }, (socket) => {
    socket.resume();
    socket.on('end', () => socket.end());
    socket.on('error', () => socket.destroy());
  });
  const https = createHttpsServer({ cert: certificate.cert, key: certificate.key }, (request, response) => {
    request.resume();
    request.on('end', () => response.end());
  });
  return [
    {
      name: 'file',
      type: 'file',
      path: path.join(place.directory, 'events.jsonl'),
      max_bytes: 100_000_000,
      keep: 1,
    },
    {
      name: 'syslog-tcp',
      type: 'syslog',
      transport: 'tcp',
      host: '127.0.0.1',
      port: await listen(syslog, place),
    },
    {
      name: 'https',
      type: 'https',
      url: `https://127.0.0.1:${await listen(https, place)}/events`,
      allow_private: true,
      tls: { ca: certificate.cert },
    },
  ];
}

async function listen(server: Server, { cleanup }: Place): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.defer(() => void server.close());
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}
