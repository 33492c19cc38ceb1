import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A host is, or its name resolves to, an address that is not on the public internet. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
}

/**
 * Throws a PrivateAddressError for an address that is not a public one: loopback, private (RFC 1918, fc00::/7),
 * link-local with the clouds' metadata service at 169.254.169.254, carrier-grade NAT, multicast, reserved, and IPv4
 * addresses inside IPv6 ones. Accepts any name: its address is known only when connecting (`publicLookup`).
 */
export function refusePrivateAddress(host: string): void {
  if (isIP(host) === 0) return;
  const range = ipaddr.process(host).range();
  if (range !== 'unicast') throw new PrivateAddressError(`${host} is not a public address (${range})`);
}

/**
 * A lookup for connecting that returns public addresses only. The socket connects to the very address that was
 * checked, so a name that resolves differently the next time (DNS rebinding) gains nothing.
 */
export function publicLookup(lookup: LookupFunction): LookupFunction {
  return (host, options, callback) => {
    lookup(host, options, (error, found, family) => {
      if (error === null) {
        try {
          for (const address of addressesOf(found)) refusePrivateAddress(address);
        } catch (cause) {
          callback(new PrivateAddressError(`${host} resolves to a private address`, { cause }), []);
          return;
        }
      }
      callback(error, found, family);
    });
  };
}

function addressesOf(found: string | LookupAddress[]): string[] {
  return typeof found === 'string' ? [found] : found.map(({ address }) => address);
}
