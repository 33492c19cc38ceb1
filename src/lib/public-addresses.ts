import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A host is, or its name resolves to, an address that is not on the public internet. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
}

/** The IPv6 addresses that are given out for the public internet, and those of them that protocols use. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3');
const PROTOCOL_ASSIGNMENTS = ipaddr.parseCIDR('2001::/23');

/**
 * The range of an address that is not a public one: loopback, private (RFC 1918, fc00::/7), link-local with the clouds'
 * metadata service at 169.254.169.254, carrier-grade NAT, multicast, reserved, and every form of IPv6 that contains an
 * IPv4 address (mapped, compatible, translated, NAT64, 6to4, Teredo), except a mapped public one. Undefined for public
 * ones and for any name: its address is known only when connecting (`publicLookup`). IPv6 may be in brackets.
 */
export function privateRangeOf(host: string): string | undefined {
  const bare = host.replaceAll(/^\[|\]$/g, '');
  if (isIP(bare) === 0) return undefined;
  const address = ipaddr.process(bare);
  const isAssigned =
    address.kind() === 'ipv4' || (address.match(GLOBAL_UNICAST) && !address.match(PROTOCOL_ASSIGNMENTS));
  const range = isAssigned ? address.range() : 'reserved';
  return range === 'unicast' ? undefined : range;
}

/** Throws a PrivateAddressError for an address that is not a public one. */
export function refusePrivateAddress(host: string): void {
  const range = privateRangeOf(host);
  if (range !== undefined) throw new PrivateAddressError(`${host} is not a public address (${range})`);
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
