import { isIP } from 'node:net';
import type { Request } from 'express';

/**
 * The address that a request came from: the one that a trusted proxy reports (setting TRUST_PROXY, the `trust proxy` of
 * the application), else the other end of the connection. It is always an address: the text that a proxy forwards may be
 * made up by the sender.
 */
export function remoteAddressOf(request: Request): string {
  const peer = request.socket.remoteAddress ?? '';
  if (request.headers['x-forwarded-for'] === undefined) return peer;
  const { ip = '' } = request;
  return isIP(ip) === 0 ? peer : ip;
}
