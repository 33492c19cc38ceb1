import { createHmac } from 'node:crypto';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { LookupFunction } from 'node:net';
import { z } from 'zod';
import { OutageError } from '../../lib/errors.ts';
import { createSecrets } from '../../lib/secrets.ts';
import { jsonOf } from '../report-document.ts';
import { type Sender, batchId } from '../sender.ts';
import { describeAnswer, failureOf, isGood, isHtml } from './http-answer.ts';
import { createHttpEndpoint, httpOptions, type Answer } from './http-endpoint.ts';

/** Headers that the sender sets itself. Naming another host in them would bypass the address checks. */
const OUR_HEADERS = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'content-type']);

const BODY_TYPES = { array: 'application/json', ndjson: 'application/x-ndjson' } as const;

const PREFIX = 'whsec_';

/** A key in the form of Standard Webhooks: `whsec_` and 24 to 64 bytes in base64. */
const signingSecret = z.string().refine((text) => {
  const bytes = keyOf(text).length;
  return /^whsec_[A-Za-z0-9+/]+=*$/.test(text) && bytes >= 24 && bytes <= 64;
}, 'must be whsec_ and 24 to 64 bytes in base64 (try: echo whsec_$(openssl rand -base64 32))');

const STATUS = 'must be a status from 200 to 299';

/** An address of any host, which may contain credentials in its path and query. */
export const httpsAddress = z
  .string()
  .refine(isHttpsUrl, 'must be an address such as https://host/path, without user name or fragment');

export const publicOnlyOption = {
  /** Allows hosts in the private network. Otherwise anyone who can set the address could reach internal services. */
  allow_private: z.boolean('must be true or false').default(false),
};

export const headersOption = z
  .record(z.string(), z.string())
  .refine(areHeaders, `must be valid HTTP headers other than ${[...OUR_HEADERS].join(', ')}`)
  .default({});

export const httpsOptions = z.strictObject({
  ...httpOptions,
  ...publicOnlyOption,
  url: httpsAddress,
  body: z.enum(['array', 'ndjson'], 'must be array or ndjson').default('array'),
  /** By default that of the body: some receivers accept only `application/json`. */
  content_type: z
    .string()
    .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(?:; ?[ -~]+)?$/, 'must be a media type such as application/json')
    .optional(),
  /** The status of an answer that accepts a batch. By default any from 200 to 299. */
  expect_status: z.int(STATUS).min(200, STATUS).max(299, STATUS).optional(),
  /** A text in the body of such an answer. By default any body but an HTML page. */
  expect_body: z.string().min(1, 'must be a text in the answer').optional(),
  headers: headersOption,
  signing_secret: signingSecret.optional(),
});

export type HttpsOptions = z.output<typeof httpsOptions>;

/** Sends each batch as one request with the batch's id, signed if there is a signing secret. */
export function createHttpsSender(options: HttpsOptions, lookup?: LookupFunction): Sender {
  const endpoint = createHttpEndpoint({
    type: 'https',
    url: options.url,
    secrets: createSecrets(Object.values(options.headers)),
    http: options,
    publicOnly: !options.allow_private,
    lookup,
  });

  async function post(id: string, contentType: string, body: string): Promise<void> {
    const headers = {
      ...options.headers,
      'content-type': contentType,
      ...webhookHeaders(id, body, options.signing_secret),
    };
    const answer = await endpoint.post('', headers, body);
    if (!isGood(answer)) throw failureOf(answer, endpoint);
    const unexpected = unexpectedIn(answer, options);
    if (unexpected !== undefined) throw new OutageError(`${unexpected}: ${describeAnswer(answer, endpoint)}`);
  }

  return {
    async send(batch) {
      const texts = batch.map(({ text }) => text);
      const body = options.body === 'array' ? `[${texts.join(',')}]` : `${texts.join('\n')}\n`;
      await post(batchId(batch), options.content_type ?? BODY_TYPES[options.body], body);
      return [];
    },
    sendReport: (report) =>
      post(`report_${report.id}`, options.content_type ?? BODY_TYPES.array, JSON.stringify(jsonOf(report))),
    close: endpoint.close,
  };
}

/** Why a good answer does not mean that the batch is accepted; undefined if it does. */
function unexpectedIn(answer: Answer, { expect_status, expect_body }: HttpsOptions): string | undefined {
  const { status, text } = answer;
  if (expect_status !== undefined && status !== expect_status) return `not the status ${expect_status}`;
  if (expect_body !== undefined) return text.includes(expect_body) ? undefined : 'not the expected body';
  return isHtml(answer) ? 'an HTML page is no receipt' : undefined;
}

function webhookHeaders(id: string, body: string, secret: string | undefined): Record<string, string> {
  const seconds = Math.floor(Date.now() / 1000);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    ...(secret === undefined ? {} : { 'webhook-signature': webhookSignature(secret, id, seconds, body) }),
  };
}

function isHttpsUrl(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === 'https:' && url.username === '' && url.password === '' && url.hash === '';
}

function areHeaders(headers: Readonly<Record<string, string>>): boolean {
  try {
    for (const [name, value] of Object.entries(headers)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
      if (OUR_HEADERS.has(name.toLowerCase())) return false;
    }
    return true;
  } catch {
    return false;
  }
}

/** The header `webhook-signature` (https://www.standardwebhooks.com), which signs id, time in seconds and body. */
function webhookSignature(secret: string, id: string, seconds: number, body: string): string {
  const signature = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.${body}`);
  return `v1,${signature.digest('base64')}`;
}

const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64');
