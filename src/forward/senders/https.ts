import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { LookupFunction } from 'node:net';
import { z } from 'zod';
import { createSecrets } from '../../secrets.ts';
import type { Sender } from '../sender.ts';
import { createHttpEndpoint, httpOptions } from './http-endpoint.ts';
import { failureOf, isGood } from './http-failure.ts';
import { batchId, signingSecret, webhookSignature } from './webhook-signature.ts';

/** Headers that make the request what it is; to name another host in them would undo its checks. */
const OUR_HEADERS = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'content-type']);

const BODY_TYPES = { array: 'application/json', ndjson: 'application/x-ndjson' } as const;

/** Any receiver that takes JSON by HTTPS. */
export const httpsOptions = z.strictObject({
  ...httpOptions,
  url: z
    .string()
    .refine(isHttpsUrl, 'takes an address such as https://host/path, without user name or fragment'),
  body: z.enum(['array', 'ndjson'], 'takes array or ndjson').default('array'),
  headers: z
    .record(z.string(), z.string())
    .refine(areHeaders, `takes HTTP headers other than ${[...OUR_HEADERS].join(', ')}`)
    .default({}),
  signing_secret: signingSecret.optional(),
  /** Lets the host be in our own network; otherwise whoever may set the address could reach what only we can. */
  allow_private: z.boolean('takes true or false').default(false),
});

export type HttpsOptions = z.output<typeof httpsOptions>;

export const HTTPS_FORMATS = ['json', 'ecs', 'ocsf'] as const;

/** Sends a batch as one request that carries the batch's id, signed where there is a key. */
export function createHttpsSender(options: HttpsOptions, lookup?: LookupFunction): Sender {
  const secrets = createSecrets();
  for (const value of Object.values(options.headers)) secrets.add(value);
  const endpoint = createHttpEndpoint({
    type: 'https',
    url: options.url,
    secrets,
    http: options,
    publicOnly: !options.allow_private,
    lookup,
  });

  return {
    async send(batch) {
      const texts = batch.map(({ text }) => text);
      const body = options.body === 'array' ? `[${texts.join(',')}]` : `${texts.join('\n')}\n`;
      const headers = {
        ...options.headers,
        'content-type': BODY_TYPES[options.body],
        ...webhookHeaders(batchId(batch), body, options.signing_secret),
      };
      const answer = await endpoint.post('', headers, body);
      if (!isGood(answer)) throw failureOf(answer, endpoint);
      return [];
    },
    close: () => Promise.resolve(endpoint.close()),
  };
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
