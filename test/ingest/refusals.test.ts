import { createHmac, randomBytes } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import type { Durability } from '../../src/events/domain.ts';
import { OutageError } from '../../src/lib/errors.ts';
import { Admission } from '../../src/ingest/admission.ts';
import { createSourceRates } from '../../src/ingest/source-rates.ts';
import { SecretVerifier } from '../../src/ingest/verify-secret.ts';
import { auditRecord } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';
import { AUDIT, chunk, connectRaw, ErrorBody, head, refusal, SECRET, serve } from './serve.ts';

const sign = (secret: string, body: string) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

const BODY = JSON.stringify([auditRecord()]);

describe('400', () => {
  it.each([
    ['nothing', ''],
    ['no JSON', '{"a":'],
    ['a scalar', '12345678901234567890'],
    ['no UTF-8', Buffer.from([0x7b, 0xff, 0x7d])],
  ])('is the answer to %s; the bytes are kept, and the answer says as which delivery', async (_, body) => {
    const { post, deliveries } = await serve();
    const { status, code, message } = await refusal(await post(body));
    expect({ status, code }).toEqual({ status: 400, code: 'UNREADABLE_BODY' });
    expect(deliveries).toHaveLength(1);
    const [kept] = deliveries;
    expect(message).toContain(`the body is kept in quarantine as delivery ${kept?.deliveryId}`);
    expect(kept).toMatchObject({ recordCount: 1, records: '[]', bodyBytes: Buffer.from(body).length });
    expect(kept?.unreadable.map(({ content }) => content)).toEqual([Buffer.from(body).toString('base64')]);
  });

  it('is the answer to a body that is not of its encoding, which is kept as it came over the wire', async () => {
    const { post, deliveries } = await serve();
    const body = gzipSync(BODY).subarray(0, 40);
    expect(await refusal(await post(body, { 'content-encoding': 'gzip' }))).toMatchObject({
      status: 400,
      code: 'UNREADABLE_BODY',
    });
    expect(deliveries[0]?.unreadable.map(({ content }) => content)).toEqual([body.toString('base64')]);
  });

  it.each(['/ingest/%ff/AUDIT_LOG_ALL', '/ingest/default/%', '/ingest/default/%c3%28'])(
    'is the answer to the malformed path %s; nothing is kept',
    async (path) => {
      const { post, deliveries } = await serve();
      expect(await refusal(await post(BODY, {}, path))).toMatchObject({ status: 400, code: 'BAD_REQUEST' });
      expect(deliveries).toEqual([]);
    },
  );
});

describe('401', () => {
  const refused = [
    ['no secret', '/ingest/default/AUDIT_LOG_ALL', {}],
    ['a wrong secret', '/ingest/default/AUDIT_LOG_ALL', { authorization: 'Bearer wrong-wrong-wrong-wrong' }],
    [
      'a wrong signature',
      '/ingest/default/AUDIT_LOG_ALL',
      { 'x-hub-signature-256': sign(SECRET, `${BODY} `) },
    ],
    ['an unknown source', '/ingest/nowhere/AUDIT_LOG_ALL', { authorization: `Bearer ${SECRET}` }],
    [
      'a signature for an unknown source',
      '/ingest/nowhere/AUDIT_LOG_ALL',
      { 'x-hub-signature-256': sign(SECRET, BODY) },
    ],
    ['the source __proto__', '/ingest/__proto__/AUDIT_LOG_ALL', { authorization: `Bearer ${SECRET}` }],
  ] as const;

  it.each(refused)(
    'is the answer to %s: the same answer as to the others, and nothing is kept',
    async (_, path, headers) => {
      const { request, deliveries, log } = await serve();
      const response = await request(path, { method: 'POST', headers, body: BODY });
      expect(response.headers.get('www-authenticate')).toBe('Basic realm="xiq-sink"');
      const { status, code, message } = await refusal(response);
      expect({ status, code }).toEqual({ status: 401, code: 'UNAUTHORIZED' });
      expect(message).toContain('or the source is unknown');
      expect(deliveries).toEqual([]);
      for (const told of [SECRET, 'wrong-wrong', 'sha256=', 'admin@example.com'])
        expect(log()).not.toContain(told);
    },
  );

  it('comes before the body, unless the body is signed', async () => {
    const { port } = await serve();
    const unsigned = connectRaw(port, `POST ${AUDIT} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n`);
    await waitFor(() => unsigned.received() !== '');
    expect(unsigned.received()).toMatch(/^HTTP\/1\.1 401 /);
  });
});

it('a check of the secret that fails lets nothing in', async () => {
  class FailingVerifier extends SecretVerifier {
    override verifyHeaders(): never {
      throw new Error('no check');
    }
  }
  const { post, deliveries } = await serve({ verifier: new FailingVerifier([]) });
  expect(await refusal(await post(BODY))).toMatchObject({ status: 500, code: 'INTERNAL_ERROR' });
  expect(deliveries).toEqual([]);
});

describe('404 and 405', () => {
  it.each([
    '/',
    '/ingest',
    '/ingest/default',
    `${AUDIT}/more`,
    '/ingest//AUDIT_LOG_ALL',
    '/metrics',
    '/../etc/passwd',
  ])('404 is at %s', async (path) => {
    const { post } = await serve();
    expect(await refusal(await post(BODY, {}, path))).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  });

  it.each(['AUDIT_LOG', 'audit_log_all', '__proto__', 'AUDIT_LOG_ALL%20', '%00', 'OTHER', 'SOMETHING_NEW'])(
    '404 is for the message type %s, and names all',
    async (messageType) => {
      const { post, deliveries } = await serve();
      const { status, code, message } = await refusal(await post(BODY, {}, `/ingest/default/${messageType}`));
      expect({ status, code }).toEqual({ status: 404, code: 'NO_SUCH_MESSAGE_TYPE' });
      expect(message).toContain(CLOUD_TYPES.join(', '));
      expect(deliveries).toEqual([]);
    },
  );

  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('405 is for %s, and names POST', async (method) => {
    const { request, deliveries } = await serve();
    const response = await request(AUDIT, { method, headers: { authorization: `Bearer ${SECRET}` } });
    expect(response.headers.get('allow')).toBe('POST');
    expect(await refusal(response)).toMatchObject({ status: 405, code: 'METHOD_NOT_ALLOWED' });
    expect(deliveries).toEqual([]);
  });
});

describe('413 and 415', () => {
  const LIMIT = 1_000;
  const fits = `"${'x'.repeat(LIMIT - 7)}"`;
  const body = (extra = '') => `{"":${fits}${extra}}`;

  it('a body of exactly the limit is taken', async () => {
    const { post } = await serve({ maxBodyBytes: LIMIT });
    expect(body()).toHaveLength(LIMIT);
    expect((await post(body())).status).toBe(200);
  });

  it('413 is for one byte more by Content-Length, before the body has come', async () => {
    const { port, deliveries } = await serve({ maxBodyBytes: LIMIT });
    const sender = connectRaw(port, head(`Content-Length: ${LIMIT + 1}`));
    await waitFor(() => sender.received().startsWith('HTTP/1.1 413 '));
    expect(sender.received()).toContain('BODY_TOO_LARGE');
    expect(deliveries).toEqual([]);
  });

  it('413 is for one byte more in chunks, without waiting for their end', async () => {
    const { port, deliveries } = await serve({ maxBodyBytes: LIMIT });
    const sender = connectRaw(port, head('Transfer-Encoding: chunked'), chunk(body()), chunk(' '));
    await waitFor(() => sender.received().startsWith('HTTP/1.1 413 '));
    expect(deliveries).toEqual([]);
  });

  it('413 reaches a sender that goes on sending, and names the setting', async () => {
    const { post, deliveries } = await serve({ maxBodyBytes: LIMIT });
    const { status, code, message } = await refusal(await post(Buffer.alloc(5_000_000, 0x20)));
    expect({ status, code }).toEqual({ status: 413, code: 'BODY_TOO_LARGE' });
    expect(message).toMatch(/1000 bytes.*MAX_BODY_BYTES/);
    expect(deliveries).toEqual([]);
  });

  it('413 is for a body that hardly compresses and is too large for the queue', async () => {
    const { post, deliveries } = await serve({ maxBodyBytes: 5_000_000 });
    const { status, message } = await refusal(await post(randomBytes(4_500_000)));
    expect(status).toBe(413);
    expect(message).toContain('send it in parts');
    expect(deliveries).toEqual([]);
    // One that compresses is kept, unreadable as it is, and its sender does not wait for its size.
    const began = performance.now();
    expect((await post('x'.repeat(4_500_000))).status).toBe(400);
    expect(performance.now() - began).toBeLessThan(4_000);
    expect(deliveries).toMatchObject([{ recordCount: 1 }]);
  });

  it('415 is for an unknown encoding, and names the known', async () => {
    const { post, deliveries } = await serve();
    const { status, code, message } = await refusal(await post(BODY, { 'content-encoding': 'compress' }));
    expect({ status, code }).toEqual({ status: 415, code: 'UNSUPPORTED_ENCODING' });
    expect(message).toContain('identity, gzip, x-gzip, deflate, br, zstd');
    expect(deliveries).toEqual([]);
  });

  it('neither is told to who has no secret', async () => {
    const { request } = await serve({ maxBodyBytes: LIMIT });
    const headers = { 'content-encoding': 'x', authorization: 'Bearer wrong-wrong-wrong-wrong' };
    const response = await request(AUDIT, { method: 'POST', headers, body: body('  ') });
    expect(await refusal(response)).toMatchObject({ status: 401 });
  });
});

describe('429', () => {
  it('is for the 21st wrong secret of an address in a minute, while right ones are taken as ever', async () => {
    const { post, deliveries } = await serve();
    const wrong = () => post(BODY, { authorization: 'Bearer wrong-wrong-wrong-wrong' });
    for (let n = 0; n < 20; n += 1) expect((await wrong()).status).toBe(401);
    const response = await wrong();
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await refusal(response)).toMatchObject({ status: 429, code: 'TOO_MANY_WRONG_SECRETS' });
    const signed = { authorization: '', 'x-hub-signature-256': sign('wrong', BODY) };
    expect((await post(BODY, signed)).status).toBe(429);
    expect((await post(BODY)).status).toBe(200);
    expect(deliveries).toHaveLength(1);
  });

  const wrongFrom = (forwarded: string) => ({
    authorization: 'Bearer wrong-wrong-wrong-wrong',
    'x-forwarded-for': forwarded,
  });

  it.each([
    // What a sender itself puts in front of what the proxy adds does not count.
    ['the address that a trusted proxy names', ['loopback'], '192.0.2.1', '198.51.100.7, 192.0.2.1', 429],
    [
      'the address without the port that proxies add',
      ['loopback', '10.0.0.1'],
      '192.0.2.1:50123',
      '192.0.2.1:1, 10.0.0.1:443',
      429,
    ],
    ['one of IPv6 without it', ['loopback'], '[2001:db8::1]:50123', '2001:db8::1', 429],
    ['no other address behind it', ['loopback'], '192.0.2.1', '192.0.2.2', 401],
    [
      'the address that one proxy adds, whatever comes before it',
      1,
      '192.0.2.1, 203.0.113.9',
      '<x>, 203.0.113.9',
      429,
    ],
    ['the connection, unless a proxy is trusted', undefined, '192.0.2.1', '198.51.100.1', 429],
  ])('is for %s', async (_, trustedProxies, forwarded, next, expected) => {
    const { post, log } = await serve({ trustedProxies });
    for (let n = 0; n < 20; n += 1) expect((await post(BODY, wrongFrom(forwarded))).status).toBe(401);
    expect((await post(BODY, wrongFrom(next))).status).toBe(expected);
    await post(BODY, wrongFrom('<script>'));
    expect(log()).not.toContain('<script>');
    const isLogged = /"remote":"(?:192\.0\.2\.1|2001:db8::1)"/.test(log());
    expect(isLogged).toBe(Array.isArray(trustedProxies));
  });

  it('is left out when the count itself fails: a wrong secret is still refused, a right one taken', async () => {
    const { post, deliveries } = await serve({
      failedSecrets: { count: () => Promise.reject(new Error('no counter')) },
    });
    expect((await post(BODY, { authorization: 'Bearer wrong-wrong-wrong-wrong' })).status).toBe(401);
    expect((await post(BODY)).status).toBe(200);
    expect(deliveries).toHaveLength(1);
  });

  it('is never for a request without a secret: a sender may ask first which kind is wanted', async () => {
    const { request, post } = await serve();
    for (let n = 0; n < 25; n += 1) {
      expect((await request(AUDIT, { method: 'POST', body: BODY })).status).toBe(401);
    }
    expect((await post(BODY, { authorization: 'Bearer wrong-wrong-wrong-wrong' })).status).toBe(401);
  });
});

const silent = pino({ level: 'silent' });

/** Room for 20,000 bytes at a time, unless told otherwise. */
const admissionOf = (options: Partial<ConstructorParameters<typeof Admission>[0]> = {}) =>
  new Admission({ maxBytesInFlight: 20_000, maxBodyBytes: 20_000, logger: silent, ...options });

describe('503 and 500', () => {
  it('503 is for a delivery too many, before its body has come, but not to who has no secret', async () => {
    const { promise, resolve } = Promise.withResolvers<Durability>();
    let handedOver = 0;
    const { port, post, request } = await serve({
      admission: admissionOf(),
      enqueue: () => {
        handedOver += 1;
        return promise;
      },
    });
    // It is large only once it is inflated.
    const body = gzipSync(`{"a":"${'x'.repeat(15_000)}"}`);
    const first = post(body, { 'content-encoding': 'gzip' });
    await waitFor(() => handedOver === 1);
    const second = connectRaw(port, head('Content-Length: 10'));
    await waitFor(() => second.received().startsWith('HTTP/1.1 503 '));
    expect(second.received()).toMatch(/^Retry-After: 5\r$/m);
    expect(second.received()).toContain('"error_code":"OVERLOADED"');
    expect((await request(AUDIT, { method: 'POST', body: BODY })).status).toBe(401);
    resolve('queued');
    expect((await first).status).toBe(200);
    expect((await post('{}')).status).toBe(200);
  });

  it('503 breaks a body off that would go beyond all bounds, and the connection ends', async () => {
    const { port, post } = await serve({
      admission: admissionOf({ maxBytesInFlight: 1_000, maxBodyBytes: 1_000 }),
      maxBodyBytes: 100_000,
    });
    const sender = connectRaw(port, head('Content-Length: 90000'), Buffer.alloc(50_000, 0x20));
    await waitFor(() => sender.received().startsWith('HTTP/1.1 503 '));
    await sender.closed;
    expect((await post('{}')).status).toBe(200);
  });

  it('503 ends a body that another source needs the room of, and never that of the other source', async () => {
    const { port, post, log } = await serve({
      verifier: new SecretVerifier([
        { name: 'default', secrets: [SECRET] },
        { name: 'quiet', secrets: [SECRET] },
      ]),
      admission: admissionOf(),
    });
    const noisy = connectRaw(port, head('Content-Length: 40000'), Buffer.alloc(35_000, 0x20));
    await waitFor(async () => (await post('{}')).status === 503);
    const quiet = `{"a":"${'x'.repeat(18_000)}"}`;
    expect((await post(quiet, {}, '/ingest/quiet/AUDIT_LOG_ALL')).status).toBe(200);
    await noisy.closed;
    expect(noisy.received()).toMatch(/^HTTP\/1.1 503 [^]*^Retry-After: 5\r$/m);
    expect((await post('{}')).status).toBe(200);
    expect(log()).not.toContain('INTERNAL_ERROR');
  });

  it('408 is for a body that stalls, and 429 with the time to wait for a source over its limits', async () => {
    const rates = createSourceRates(() => ({ deliveriesPerSecond: 1 }), silent);
    const { port, post, log } = await serve({ admission: admissionOf({ rates, stalledMs: 100 }) });
    const stalling = connectRaw(port, head('Content-Length: 9000'), Buffer.alloc(8_000, 0x20));
    await stalling.closed;
    expect(stalling.received()).toMatch(/^HTTP\/1.1 408 [^]*"error_code":"BODY_STALLED"/);
    await post('{}');
    const response = await post('{}');
    expect(response.headers.get('retry-after')).toMatch(/^[12]$/);
    expect(await refusal(response)).toMatchObject({ status: 429, code: 'RATE_LIMITED' });
    // One over its rate would fill the log.
    expect(log()).toMatch(/"level":20,.*"status":429/);
  });

  it('503 is over once the connection that held too much is broken', async () => {
    const { port, post } = await serve({ admission: admissionOf() });
    const sender = connectRaw(port, head('Content-Length: 14000'), Buffer.alloc(13_000, 0x20));
    await waitFor(async () => (await post('{}')).status === 503);
    sender.socket.destroy();
    await sender.closed;
    await waitFor(async () => (await post('{}')).status === 200);
    expect(sender.received()).toBe('');
  });

  it.each([BODY, 'not JSON'])('503 is for %j while nothing takes it, with the time to wait', async (body) => {
    const { post } = await serve({
      enqueue: () => Promise.reject(new OutageError('redis://:hunter2@cache is away')),
    });
    const response = await post(body);
    expect(response.headers.get('retry-after')).toBe('10');
    const { status, code, message } = await refusal(response);
    expect({ status, code }).toEqual({ status: 503, code: 'QUEUE_UNAVAILABLE' });
    expect(message).not.toContain('hunter2');
  });

  it('reports deliveries with a valid secret that should be sent again, and no others', async () => {
    const deferred: string[] = [];
    const { post, request } = await serve({
      enqueue: () => Promise.reject(new OutageError('away')),
      observer: {
        deferred: (source, messageType) => void deferred.push(`${source} ${messageType}`),
      },
    });
    await post(BODY);
    await post(BODY, { 'content-encoding': 'x' });
    await post(BODY, { authorization: 'Bearer wrong-wrong-wrong-wrong' });
    await request(AUDIT, { method: 'POST' });
    expect(deferred).toEqual(['default AUDIT_LOG_ALL']);
  });

  it('500 is for a defect: the sender learns its number, the log the reason', async () => {
    const { post, log } = await serve({
      enqueue: () => Promise.reject(new TypeError('x is not a function')),
    });
    const response = await post(BODY);
    expect(response.status).toBe(500);
    const body = ErrorBody.parse(await response.json());
    expect(body.error_code).toBe('INTERNAL_ERROR');
    expect(body.error_message).not.toContain('x is not a function');
    expect(log()).toContain(body.error_id);
    expect(log()).toContain('x is not a function');
  });
});
