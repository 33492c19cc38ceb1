import { isIP } from 'node:net';
import type { Request } from 'express';
import ipaddr from 'ipaddr.js';

/**
 * The address a request came from: what a trusted proxy says (setting TRUST_PROXY), else the other end of the
 * connection. It is an address in every case: what a proxy passes on may be text of the sender's own making.
 */
export function remoteAddressOf(request: Request): string {
  const { ip = '' } = request;
  return isIP(ip) === 0 ? (request.socket.remoteAddress ?? '') : ip;
}

/**
 * The network that one customer of a provider has for itself, as a key: an IPv4 address, or the /64 of an IPv6 address
 * (RFC 6177: a site is given at least that).
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return '';
  return ipaddr.process(address).toByteArray().slice(0, 8).join('.');
}
