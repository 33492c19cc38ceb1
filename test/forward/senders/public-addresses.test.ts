import { BlockList, isIP } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PrivateAddressError, refusePrivateAddress } from '../../../src/lib/public-addresses.ts';

const isRefused = (address: string) => {
  // It would be taken for a name, whose address is checked later.
  expect(isIP(address)).not.toBe(0);
  try {
    refusePrivateAddress(address);
    return false;
  } catch (error) {
    expect(error).toBeInstanceOf(PrivateAddressError);
    return true;
  }
};

/** IANA's special-purpose addresses of IPv4 that are not globally reachable, and multicast. */
const NOT_PUBLIC: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
];

const numberOf = (ipv4: string) => ipv4.split('.').reduce((number, part) => number * 256 + Number(part), 0);
const ipv4Of = (number: number) => [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join('.');

const notPublic = fc
  .constantFrom(...NOT_PUBLIC)
  .chain(([network, prefix]) =>
    fc.integer({ min: 0, max: 2 ** (32 - prefix) - 1 }).map((host) => numberOf(network) + host),
  );

const group = (number: number) => number.toString(16);
const high = (number: number) => group(number >>> 16);
const low = (number: number) => group(number & 0xffff);

/** Forms of IPv6 addresses that contain an IPv4 address, with any other bits. */
const EMBEDDINGS: Readonly<Record<string, (ipv4: number, other: number) => string>> = {
  itself: ipv4Of,
  mapped: (ipv4) => `::ffff:${ipv4Of(ipv4)}`,
  'mapped, in digits': (ipv4) => `0:0:0:0:0:ffff:${high(ipv4)}:${low(ipv4)}`,
  compatible: (ipv4) => `::${ipv4Of(ipv4)}`,
  'compatible, in digits': (ipv4) => `::${high(ipv4)}:${low(ipv4)}`,
  translated: (ipv4) => `::ffff:0:${ipv4Of(ipv4)}`,
  NAT64: (ipv4) => `64:ff9b::${ipv4Of(ipv4)}`,
  'local NAT64, /48': (ipv4, other) => `64:ff9b:1:${high(ipv4)}:${group((ipv4 >>> 8) & 255)}:${low(other)}::`,
  'local NAT64, /96': (ipv4, other) => `64:ff9b:1:${low(other)}::${ipv4Of(ipv4)}`,
  '6to4': (ipv4, other) => `2002:${high(ipv4)}:${low(ipv4)}::${low(other)}`,
  'Teredo server': (ipv4, other) => `2001:0:${high(ipv4)}:${low(ipv4)}:0:0:${high(other)}:${low(other)}`,
  'Teredo client': (ipv4, other) => `2001:0:${high(other)}:${low(other)}:0:0:${high(~ipv4)}:${low(~ipv4)}`,
};

describe('an address that is not public', () => {
  it.each(Object.entries(EMBEDDINGS))('is refused: IPv4, %s', (_name, embed) => {
    fc.assert(
      fc.property(notPublic, fc.integer({ min: 0, max: 0xffffffff }), (ipv4, other) => {
        expect(isRefused(embed(ipv4, other))).toBe(true);
      }),
    );
  });

  it('is refused: IPv6 outside of what is given out for the internet', () => {
    const publicIpv6 = new BlockList();
    publicIpv6.addSubnet('2000::', 3, 'ipv6');
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, (parts) => {
        const address = parts.map(group).join(':');
        expect(publicIpv6.check(address, 'ipv6') || isRefused(address)).toBe(true);
      }),
    );
  });

  it.each(':: ::1 ::a9fe:a9fe fec0::1 fe80::1%lo fd00:ec2::254 ff02::1 2001:db8::1 3fff::1'.split(' '))(
    'is refused: %s',
    (address) => {
      expect(isRefused(address)).toBe(true);
    },
  );
});

const IPV4 = '1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 172.32.0.1 192.0.1.1 223.255.255.255'.split(' ');
const IPV6 = '2606:4700::1111 2a00:1450:4001::200e 2001:4860:4860::8888 2001:200::1'.split(' ');

it.each([...IPV4, ...IPV4.map((address) => `::ffff:${address}`), ...IPV6])(
  'the public address %s is accepted',
  (address) => {
    expect(isRefused(address)).toBe(false);
  },
);
