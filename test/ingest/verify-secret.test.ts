import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSigned, offersSecret, SecretVerifier } from '../../src/ingest/verify-secret.ts';

const ROTATED = 'old-secret-0123456789';
const CURRENT = 'new:secret:0123456789';
const SOUTH = 'south-secret-01234567';

const verifier = new SecretVerifier([
  { name: 'north', secrets: [CURRENT, ROTATED] },
  { name: 'south', secrets: [SOUTH] },
]);

const base64 = (text: string) => Buffer.from(text).toString('base64');
const sign = (secret: string, body: string) => createHmac('sha256', secret).update(body).digest('hex');

/** A configured secret: printable ASCII, at least 16 characters. */
const secret = fc.string({
  unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCodePoint(code)),
  minLength: 16,
  maxLength: 40,
});

describe.each([CURRENT, ROTATED])('the configured secret %s', (own) => {
  it.each([
    ['basic', { authorization: `Basic ${base64(`anybody:${own}`)}` }],
    ['basic', { authorization: `Basic ${base64(`:${own}`)}` }],
    ['basic', { authorization: `Basic ${base64(own)}` }],
    ['basic', { authorization: `Basic ${own}` }],
    ['basic', { authorization: `basic  ${base64(`ünïcode:${own}`)}` }],
    ['bearer', { authorization: `BEARER   ${own}` }],
    ['header', { authorization: 'Bearer wrong-wrong-wrong-wrong', 'x-webhook-secret': own }],
  ])('is recognised as %s in %o', (form, headers) => {
    expect(verifier.verifyHeaders('north', headers)).toBe(form);
    expect(verifier.verifyHeaders('south', headers)).toBeUndefined();
    expect(verifier.verifyHeaders('nowhere', headers)).toBeUndefined();
    expect(offersSecret(headers)).toBe(true);
  });

  it.each([`sha256=${sign(own, 'body')}`, sign(own, 'body'), `sha256=${sign(own, 'body').toUpperCase()}`])(
    'is recognised by the signature %s',
    async (signature) => {
      const headers = { 'x-hub-signature-256': signature };
      expect(isSigned(headers)).toBe(true);
      expect(verifier.verifyHeaders('north', headers)).toBeUndefined();
      expect(await verifier.verifySignature('north', headers, Buffer.from('body'))).toBe(true);
      expect(await verifier.verifySignature('north', headers, Buffer.from('body '))).toBe(false);
      expect(await verifier.verifySignature('south', headers, Buffer.from('body'))).toBe(false);
      expect(await verifier.verifySignature('nowhere', headers, Buffer.from('body'))).toBe(false);
    },
  );
});

it('that comes in several forms at once is known by the first of them', () => {
  const headers = { authorization: `Bearer ${CURRENT}`, 'x-webhook-secret': ROTATED };
  expect(verifier.verifyHeaders('north', headers)).toBe('bearer');
});

describe('an Authorization header that was right', () => {
  const headers = { authorization: `Basic ${base64(`user:${CURRENT}`)}` };
  const beside = { ...headers, authorization: `Bearer ${SOUTH}`, 'x-webhook-secret': CURRENT };

  it('is right again for its source alone, and so are others after it', () => {
    for (const right of [headers, { authorization: CURRENT }, headers, headers]) {
      expect(verifier.verifyHeaders('north', right)).toBe(right === headers ? 'basic' : 'raw');
      expect(verifier.verifyHeaders('south', right)).toBeUndefined();
      expect(verifier.verifyHeaders('nowhere', right)).toBeUndefined();
      expect(verifier.verifyHeaders('north', {})).toBeUndefined();
      expect(verifier.verifyHeaders('north', { authorization: `x${right.authorization}` })).toBeUndefined();
    }
  });

  it('is not the wrong one beside another header that is right', () => {
    expect(verifier.verifyHeaders('north', beside)).toBe('header');
    expect(verifier.verifyHeaders('north', { authorization: beside.authorization })).toBeUndefined();
  });

  it('is forgotten when the secrets change', () => {
    const rotating = new SecretVerifier([{ name: 'a', secrets: [CURRENT] }]);
    expect(rotating.verifyHeaders('a', headers)).toBe('basic');
    rotating.use([{ name: 'a', secrets: [ROTATED] }]);
    expect(rotating.verifyHeaders('a', headers)).toBeUndefined();
    rotating.use([{ name: 'b', secrets: [CURRENT] }]);
    expect(rotating.verifyHeaders('a', headers)).toBeUndefined();
    expect(rotating.verifyHeaders('b', headers)).toBe('basic');
  });
});

describe('any secret', () => {
  it('is recognised in every form, and none of its neighbours is', async () => {
    await fc.assert(
      fc.asyncProperty(secret, fc.string(), fc.nat(), async (own, user, at) => {
        const one = new SecretVerifier([{ name: 'a', secrets: [own] }]);
        const wrong = `${own.slice(0, at % own.length)}\u0001${own.slice((at % own.length) + 1)}`;
        const name = `${user.replaceAll(':', '')}.`;
        for (const [given, right] of [
          [own, true],
          [wrong, false],
          [own.slice(1), false],
          [`${own}x`, false],
          [own + own, false],
        ] as const) {
          const forms = [
            one.verifyHeaders('a', { authorization: `Basic ${base64(`${name}:${given}`)}` }),
            one.verifyHeaders('a', { authorization: `Bearer ${given}` }),
            one.verifyHeaders('a', { authorization: given }),
            one.verifyHeaders('a', { 'x-webhook-secret': given }),
          ];
          expect(forms).toEqual(right ? ['basic', 'bearer', 'raw', 'header'] : Array(4).fill(undefined));
          const signed = { 'x-hub-signature-256': `sha256=${sign(given, 'b')}` };
          expect(await one.verifySignature('a', signed, Buffer.from('b'))).toBe(right);
        }
      }),
    );
  });
});

describe('nothing else', () => {
  it.each([
    {},
    { authorization: 'Bearer ' },
    { authorization: `Bearer ${CURRENT} x` },
    { authorization: `Digest ${CURRENT}` },
    { authorization: `Bearer ${CURRENT.toUpperCase()}` },
    { authorization: 'Basic ====' },
    { authorization: `Basic ${base64(`${CURRENT}:user`)}` },
    { authorization: `Basic ${base64(`user:${CURRENT} `)}` },
    { 'x-webhook-secret': '' },
    { 'x-webhook-secret': `${CURRENT}, ${CURRENT}` },
    { 'x-webhook-secret': [CURRENT] },
    { cookie: CURRENT, 'proxy-authorization': CURRENT },
  ])('passes: %o', (headers) => {
    expect(verifier.verifyHeaders('north', headers)).toBeUndefined();
  });

  it.each([
    'sha256=',
    `sha1=${sign(CURRENT, 'body')}`,
    `sha256=${sign(CURRENT, 'body').slice(2)}`,
    `sha256=${sign('', 'body')}`,
    sign(SOUTH, 'body'),
  ])('passes as a signature: %j', async (signature) => {
    for (const source of ['north', 'nowhere', '__proto__', 'constructor', '']) {
      expect(
        await verifier.verifySignature(source, { 'x-hub-signature-256': signature }, Buffer.from('body')),
      ).toBe(false);
    }
  });

  it('passes for a source that is not configured, whatever its name', () => {
    for (const source of ['', 'North', 'north/', '__proto__', 'constructor', 'toString']) {
      expect(verifier.verifyHeaders(source, { authorization: CURRENT })).toBeUndefined();
      expect(verifier.verifyHeaders(source, { authorization: '' })).toBeUndefined();
    }
  });
});

it('tells what is offered from what is not', () => {
  expect(offersSecret({})).toBe(false);
  expect(offersSecret({ 'content-type': 'application/json', 'x-hub-signature-256': 'x' })).toBe(false);
  expect(offersSecret({ authorization: 'x' })).toBe(true);
  expect(isSigned({})).toBe(false);
});

it('refuses to check a source that has no secret, instead of letting everybody in', () => {
  expect(() => new SecretVerifier([{ name: 'open', secrets: [] }])).toThrow('source "open" has no secret');
});

it('the signature of a large body is verified in parts, between which other work has its turn', async () => {
  const body = Buffer.alloc(10 * 1024 * 1024, 'x');
  const right = createHmac('sha256', CURRENT).update(body).digest('hex');
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 0);
  const results = await Promise.all(
    [right, right.replace(/.$/, (last) => (last === '0' ? '1' : '0'))].map((signature) =>
      verifier.verifySignature('north', { 'x-hub-signature-256': signature }, body),
    ),
  );
  clearInterval(timer);
  expect(results).toEqual([true, false]);
  expect(turns).toBeGreaterThan(20);
});
