import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import type { QueuedDelivery } from '../../src/queue/delivery-batch.ts';
import { AUDIT, connectRaw, ErrorBody, SECRET, serve } from './serve.ts';
import type { Serving } from './serve.ts';
import { anyCharacter } from '../support/any-character.ts';

/** How long each property is tried (`FUZZ_SECONDS`), and from which seed to repeat a run (`FUZZ_SEED`). */
const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 1);
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31);

const LIMITED = {
  seed: SEED,
  numRuns: 1_000_000,
  interruptAfterTimeLimit: SECONDS * 1000,
  markInterruptAsFailure: false,
};
const TIMEOUT_MS = SECONDS * 1000 + 30_000;

beforeAll(() => void process.stdout.write(`fuzzing for ${SECONDS} s each, FUZZ_SEED=${SEED}\n`));

const Receipt = z.strictObject({
  delivery_id: z.uuid(),
  records: z.number(),
  quarantined: z.number(),
  durability: z.enum(['queued', 'spooled']),
});

const keys = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'polluted', 'userName', ''));
const { value: jsonValue } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, false),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.string({ unit: anyCharacter }),
    fc.array(tie('value'), { maxLength: 5 }),
    tie('object'),
  ),
  object: fc.dictionary(keys, tie('value'), { maxKeys: 5 }),
}));
const records = fc.array(fc.dictionary(keys, jsonValue, { maxKeys: 5 }), { maxLength: 5 });

const body = fc.oneof(
  records.map((value) => Buffer.from(JSON.stringify(value))),
  jsonValue.map((value) => Buffer.from(JSON.stringify(value))),
  fc.uint8Array({ maxLength: 500 }).map((bytes) => Buffer.from(bytes)),
  records.chain((value) => {
    const text = JSON.stringify(value);
    return fc.nat(text.length).map((end) => Buffer.from(text.slice(0, end)));
  }),
);

const authorization = fc.oneof(
  { weight: 4, arbitrary: fc.constant(`Bearer ${SECRET}`) },
  fc.constantFrom('', 'Basic', 'Bearer ', `Bearer ${SECRET}x`, `Basic ${SECRET}`, 'Digest x'),
  fc.stringMatching(/^[\u0021-\u007e]{0,40}$/),
);

const HEADER_NAMES = [
  'x-webhook-secret',
  'x-hub-signature-256',
  'content-type',
  'x-forwarded-for',
  'expect-ct',
];
const headers = fc.dictionary(
  fc.oneof(fc.constantFrom(...HEADER_NAMES), fc.stringMatching(/^x-[a-z]{1,10}$/)),
  fc.stringMatching(/^[\u0020-\u007e\u00a0-\u00ff]{0,60}$/),
  { maxKeys: 4 },
);

const encoding = fc.constantFrom('', '', '', 'identity', 'gzip', 'gzip, gzip', 'br', 'deflate', 'zstd', 'x');
const target = fc.oneof(
  { weight: 6, arbitrary: fc.constant(AUDIT) },
  fc.constantFrom(
    '/ingest/__proto__/AUDIT_LOG_ALL',
    '/ingest/default/X',
    '/ingest/%ff/AUDIT_LOG_ALL',
    '/',
    '/readyz',
  ),
  fc.webPath(),
);

/** The answer of the one shape that its status calls for. */
async function answerOf(response: Response) {
  expect(response.status).toBeLessThan(500);
  const value: unknown = await response.json();
  return response.status === 200
    ? { status: 200, receipt: Receipt.parse(value) }
    : { status: response.status, error: ErrorBody.parse(value) };
}

/** What the queue must have got for a request that was answered so: once and as it was sent, or nothing. */
function dueFor(answer: Awaited<ReturnType<typeof answerOf>>, sent: Buffer, inflated: Buffer): object[] {
  if (answer.receipt !== undefined) {
    const { delivery_id: deliveryId, records: recordCount, quarantined } = answer.receipt;
    const value: unknown = JSON.parse(inflated.toString());
    const parts: readonly unknown[] = Array.isArray(value) ? value : [value];
    const isRecord = (part: unknown) => typeof part === 'object' && part !== null && !Array.isArray(part);
    const records = parts.filter(isRecord);
    const setAside = parts.filter((part) => !isRecord(part)).map((part) => JSON.stringify(part));
    const isTold = recordCount === parts.length && quarantined === setAside.length;
    return [{ deliveryId, bodyBytes: sent.length, records: JSON.stringify(records), setAside, isTold }];
  }
  if (answer.error.error_code !== 'UNREADABLE_BODY') return [];
  const deliveryId = /as delivery (\S+)$/.exec(answer.error.error_message)?.[1];
  const setAside = [sent.toString('latin1')];
  return [{ deliveryId, bodyBytes: sent.length, records: '[]', setAside, isTold: true }];
}

/** The same of what it has got. */
function handedOver({ deliveryId, bodyBytes, records, unreadable }: QueuedDelivery): object {
  const isText = records !== '[]' || unreadable.every(({ reason }) => reason.startsWith('the record'));
  const setAside = unreadable.map(({ content }) => {
    const bytes = Buffer.from(content, 'base64');
    return isText ? JSON.stringify(JSON.parse(bytes.toString())) : bytes.toString('latin1');
  });
  return { deliveryId, bodyBytes, records: JSON.stringify(JSON.parse(records)), setAside, isTold: true };
}

async function expectStillServing({ post, deliveries }: Serving): Promise<void> {
  const before = deliveries.length;
  expect((await post('[{"still":"serving"}]')).status).toBe(200);
  // A request of the property may still be on its way when its time is over.
  expect(deliveries.slice(before).map(({ records }) => records)).toContain('[{"still":"serving"}]');
}

it(
  'any request gets one answer, and what is acknowledged was handed over once, as it was sent',
  async () => {
    const serving = await serve();
    const request = fc.record({ target, authorization, headers, encoding, body, isCompressed: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(request, async (given) => {
        const before = serving.deliveries.length;
        const isGzip = given.encoding === 'gzip' && given.isCompressed;
        const sent = Buffer.from(isGzip ? gzipSync(given.body) : given.body);
        const response = await serving.request(given.target, {
          method: 'POST',
          headers: {
            ...given.headers,
            authorization: given.authorization,
            'content-encoding': given.encoding,
          },
          body: sent,
        });
        if (given.target === '/readyz') return;
        const answer = await answerOf(response);
        const got = serving.deliveries.slice(before).map(handedOver);
        expect(got).toEqual(dueFor(answer, sent, Buffer.from(given.body)));
      }),
      LIMITED,
    );
    await expectStillServing(serving);
    expect('polluted' in {}).toBe(false);
  },
  TIMEOUT_MS,
);

/** What requests on the wire are made of: between bars, with line breaks escaped. */
const PIECES = [
  String.raw`POST |${AUDIT}| HTTP/1.1|\r\n|\r\n\r\n|\n|\r| |:|\0|Host: x\r\n`,
  String.raw`Content-Length: 2\r\n|Content-Length: 5\r\n|Transfer-Encoding: chunked\r\n|{}`,
  String.raw`Connection: close\r\n|Expect: 100-continue\r\n|Upgrade: x\r\n|0\r\n\r\n|2\r\n{}\r\n`,
  String.raw`POST ${AUDIT} HTTP/1.1\r\nHost: x\r\n|Authorization: Bearer ${SECRET}\r\n|GET / HTTP/1.0`,
].map((line) => line.replaceAll(/\\r/g, '\r').replaceAll(/\\n/g, '\n').replaceAll(/\\0/g, '\0').split('|'));

/** A request on the wire, cut and joined anew anywhere: nearly HTTP, or nothing like it. */
const wire = fc
  .array(
    fc.oneof(
      ...PIECES.map((pieces) => fc.constantFrom(...pieces)),
      fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
      fc.string(),
    ),
    { maxLength: 14 },
  )
  .map((parts) => Buffer.from(parts.join(''), 'latin1'));

it(
  'any bytes are answered or cut off, and never acknowledged without a delivery',
  async () => {
    const serving = await serve();
    await fc.assert(
      fc.asyncProperty(fc.array(wire, { minLength: 1, maxLength: 3 }), async (pieces) => {
        const before = serving.deliveries.length;
        const sender = connectRaw(serving.port, ...pieces);
        sender.socket.end();
        await sender.closed;
        const statuses = [...sender.received().matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) =>
          Number(status),
        );
        for (const status of statuses) expect(status).toBeLessThan(500);
        const ids = [...sender.received().matchAll(/"delivery_id":"([^"]+)"/g)].map(([, id]) => id);
        expect(ids).toHaveLength(statuses.filter((status) => status === 200).length);
        const got = serving.deliveries.slice(before).map(({ deliveryId }) => deliveryId);
        expect(got).toEqual(expect.arrayContaining(ids));
        expect(new Set(got).size).toBe(got.length);
      }),
      LIMITED,
    );
    await expectStillServing(serving);
  },
  TIMEOUT_MS,
);
