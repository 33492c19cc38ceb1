import { createHmac } from 'node:crypto';
import { brotliCompressSync } from 'node:zlib';
import { version } from 'uuid';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { CLOUD_TYPES } from '../../src/events/domain.ts';
import { auditRecord } from '../support/deliveries.ts';
import { waitFor } from '../support/wait-for.ts';
import { AUDIT, connectRaw, head, SECOND_SECRET, SECRET, serve } from './serve.ts';

const Receipt = z.strictObject({
  delivery_id: z.uuid(),
  records: z.number(),
  quarantined: z.number(),
  durability: z.literal('queued'),
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const sign = (secret: string, body: string | Buffer) =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

const BODY = JSON.stringify([auditRecord(), auditRecord({ code: 10_002 })]);

describe('200', () => {
  it('gives the receipt of what went to the queue', async () => {
    const { post, deliveries } = await serve();
    const before = Date.now();
    const response = await post(BODY);
    expect(response.status).toBe(200);
    const receipt = Receipt.parse(await response.json());
    expect(receipt).toMatchObject({ records: 2, quarantined: 0 });
    expect(response.headers.get('x-request-id')).toBe(receipt.delivery_id);
    expect(version(receipt.delivery_id)).toBe(7);
    const [delivery] = deliveries;
    expect(delivery?.receivedAt).toBeGreaterThanOrEqual(before);
    expect(delivery?.receivedAt).toBeLessThanOrEqual(Date.now());
    expect(deliveries).toEqual([
      {
        deliveryId: receipt.delivery_id,
        source: 'default',
        messageType: 'AUDIT_LOG_ALL',
        receivedAt: delivery?.receivedAt,
        origin: 'webhook',
        secretForm: 'bearer',
        bodyBytes: Buffer.byteLength(BODY),
        recordCount: 2,
        records: BODY,
        unreadable: [],
      },
    ]);
  });

  it('comes only once the queue has the delivery', async () => {
    const { promise: queue, resolve: release } = Promise.withResolvers<void>();
    let handedOver = false;
    const { post } = await serve({
      enqueue: async () => {
        handedOver = true;
        await queue;
        return 'queued';
      },
    });
    let answered = false;
    const answer = post(BODY).finally(() => {
      answered = true;
    });
    await waitFor(() => handedOver);
    expect(answered).toBe(false);
    release();
    expect((await answer).status).toBe(200);
  });

  it.each(CLOUD_TYPES)('is for deliveries of %s', async (messageType) => {
    const { post, deliveries } = await serve();
    expect((await post('{}', {}, `/ingest/default/${messageType}`)).status).toBe(200);
    expect(deliveries).toMatchObject([{ messageType, recordCount: 1, records: '[{}]' }]);
  });

  it('is for deliveries of a type that is not known, if these are stored', async () => {
    const { post, deliveries } = await serve({ storesOthers: true });
    expect((await post('{}', {}, '/ingest/default/SOMETHING_NEW_2')).status).toBe(200);
    expect((await post('{}', {}, '/ingest/default/something_new')).status).toBe(404);
    expect(deliveries).toMatchObject([
      { messageType: 'OTHER', sentType: 'SOMETHING_NEW_2', records: '[{}]' },
    ]);
  });

  it('counts what is set aside beside the records', async () => {
    const { post, deliveries } = await serve();
    const deep = `{"a":${'['.repeat(200)}${']'.repeat(200)}}`;
    const receipt = Receipt.parse(await (await post(`[{"a":1.0},7,null, ${deep} ,{"b":1.0}]`)).json());
    expect(receipt).toMatchObject({ records: 5, quarantined: 3 });
    expect(deliveries).toMatchObject([
      { recordCount: 5, records: '[{"a":1.0},{"b":1.0}]', unreadable: [{}, {}, { content: btoa(deep) }] },
    ]);
  });

  it('does not mind the content type, a query, a trailing slash, nor percent escapes in the path', async () => {
    const { post } = await serve();
    for (const type of [
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'nonsense',
      '',
    ]) {
      expect((await post(BODY, { 'content-type': type })).status).toBe(200);
    }
    for (const path of [`${AUDIT}?a[b]=c&__proto__=d`, `${AUDIT}/`, '/ingest/d%65fault/AUDIT%5FLOG_ALL']) {
      expect((await post(BODY, {}, path)).status).toBe(200);
    }
  });

  it('is for every form of the secret, and the form is recorded', async () => {
    const forms = {
      basic: { authorization: `Basic ${base64(`any user:${SECOND_SECRET}`)}` },
      bearer: { authorization: `Bearer ${SECRET}` },
      raw: { authorization: SECOND_SECRET },
      header: { authorization: '', 'x-webhook-secret': SECRET },
      hmac: { authorization: '', 'x-hub-signature-256': sign(SECOND_SECRET, BODY) },
    };
    const { post, deliveries } = await serve();
    for (const headers of Object.values(forms)) expect((await post(BODY, headers)).status).toBe(200);
    expect(deliveries.map(({ secretForm }) => secretForm)).toEqual(Object.keys(forms));
  });

  it('is for compressed bodies; a signature is over the bytes on the wire', async () => {
    const { post, deliveries } = await serve();
    const sent = brotliCompressSync(BODY);
    const headers = { 'content-encoding': 'br' };
    const signed = { ...headers, authorization: '', 'x-hub-signature-256': sign(SECRET, sent) };
    expect((await post(sent, headers)).status).toBe(200);
    expect((await post(sent, signed)).status).toBe(200);
    expect(deliveries.map(({ records }) => records)).toEqual([BODY, BODY]);
    expect(deliveries.map(({ bodyBytes }) => bodyBytes)).toEqual([sent.length, sent.length]);
  });

  it('is for a body in chunks, its pieces cut anywhere', async () => {
    const { port, deliveries } = await serve();
    const sender = connectRaw(port, head('Transfer-Encoding: chunked'));
    for (const byte of Buffer.from('{"ü":"é"}'))
      sender.socket.write(Buffer.concat([Buffer.from('1\r\n'), Buffer.of(byte), Buffer.from('\r\n')]));
    sender.socket.write('0\r\n\r\n');
    await waitFor(() => sender.received().startsWith('HTTP/1.1 200 '));
    expect(deliveries).toMatchObject([{ records: '[{"ü":"é"}]', bodyBytes: 11 }]);
  });
});

describe('health', () => {
  const works = { ask: async () => ({ state: 'ok' as const }), isNeeded: true };

  it('/healthz answers whatever the parts do', async () => {
    const { request } = await serve({
      checks: { queue: { ask: () => Promise.reject(new Error('away')), isNeeded: true } },
    });
    const response = await request('/healthz', {});
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  });

  it.each([
    ['ok', { queue: works, database: works }, { queue: 'ok', database: 'ok' }],
    [
      'degraded',
      {
        queue: { ask: async () => ({ state: 'spooling' as const }), isNeeded: true },
        database: { ask: () => Promise.reject(new Error('away')), isNeeded: false },
      },
      { queue: 'spooling', database: 'away' },
    ],
  ])('/readyz is ready and %s unless a part that is needed is away', async (status, parts, checks) => {
    const { request } = await serve({ checks: parts });
    const response = await request('/readyz', {});
    expect([response.status, await response.json()]).toEqual([200, { status, checks }]);
  });

  it('/readyz names the part that is not, and leaves the reason to the log, once', async () => {
    const reason = 'connect ECONNREFUSED cache.internal:6379';
    let isAway = true;
    const { request, log } = await serve({
      checks: {
        queue: {
          ask: async () => {
            if (isAway) throw new Error(reason);
            return { state: 'ok' };
          },
          isNeeded: true,
        },
        database: works,
      },
    });
    for (let n = 0; n < 3; n += 1) {
      const response = await request('/readyz', {});
      expect([response.status, await response.json()]).toEqual([
        503,
        { status: 'unavailable', checks: { queue: 'away', database: 'ok' } },
      ]);
    }
    expect(log().match(/"level":40.*queue is unavailable: connect ECONNREFUSED/g)).toHaveLength(1);
    isAway = false;
    expect((await request('/readyz', {})).status).toBe(200);
    expect(log()).toContain('no longer fails: ');
  });
});

it('sends the headers that harden an answer, and none that tells what it runs on', async () => {
  const { post, request } = await serve();
  const others = [await post(BODY, {}, `${AUDIT}?x`), await post('x'), await request('/healthz', {})];
  for (const response of [await post(BODY), ...others]) {
    expect(response.headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'");
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('strict-transport-security')).toContain('max-age=');
    expect(await response.text()).toMatch(/^\{.*\}\n$/);
    expect(response.headers.get('x-powered-by')).toBeNull();
    expect(response.headers.get('server')).toBeNull();
  }
});
