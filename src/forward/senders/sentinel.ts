import { z } from 'zod';
import { baseUrl } from '../../config/setting-types.ts';
import { createSecrets } from '../../secrets.ts';
import type { Sender } from '../sender.ts';
import { createAccessTokens } from './client-credentials.ts';
import { divideBySize } from './divide-by-size.ts';
import { createHttpEndpoint, httpOptions } from './http-endpoint.ts';
import { failureOf, isGood } from './http-failure.ts';

const pathSegment = z.string().regex(/^[\w.-]+$/, 'takes letters, digits, "_", "-" and "."');

const httpsBaseUrl = baseUrl.refine(
  (url) => url.startsWith('https:'),
  'takes an address that begins with https://',
);

/** Microsoft Sentinel by way of Azure Monitor's Logs Ingestion API. */
export const sentinelOptions = z.strictObject({
  ...httpOptions,
  /** The data collection endpoint, such as `https://NAME.REGION-1.ingest.monitor.azure.com`. */
  endpoint: httpsBaseUrl,
  /** The immutable id of the data collection rule, `dcr-` and 32 digits. */
  rule_id: pathSegment,
  /** The stream that the rule declares, such as `Custom-XiqEvents`. */
  stream: pathSegment,
  tenant_id: pathSegment,
  client_id: z.string().min(1, 'takes the id of an application'),
  client_secret: z.string().min(1, 'takes the secret of an application'),
  /** Another one in the national clouds. */
  login_url: httpsBaseUrl.default('https://login.microsoftonline.com'),
  scope: z.string().default('https://monitor.azure.com/.default'),
});

export type SentinelOptions = z.output<typeof sentinelOptions>;

export const SENTINEL_FORMATS = ['json', 'ocsf', 'ecs'] as const;

/** The API takes 1 MB a call, before compression. */
const MAX_REQUEST_BYTES = 1_000_000;

/** Sends JSON arrays of up to 1 MB with the token of an application that may publish to the rule. */
export function createSentinelSender(options: SentinelOptions): Sender {
  const secrets = createSecrets();
  secrets.add(options.client_secret);
  const common = { type: 'sentinel', secrets, http: options };
  const ingestion = createHttpEndpoint({ ...common, url: options.endpoint });
  const login = createHttpEndpoint({ ...common, url: options.login_url });
  const tokens = createAccessTokens(login, `/${options.tenant_id}/oauth2/v2.0/token`, {
    clientId: options.client_id,
    clientSecret: options.client_secret,
    scope: options.scope,
  });
  const path = `/dataCollectionRules/${options.rule_id}/streams/${options.stream}?api-version=2023-01-01`;

  async function post(body: string) {
    const authorization = `Bearer ${await tokens.current()}`;
    return await ingestion.post(path, { 'content-type': 'application/json', authorization }, body);
  }

  async function sendRequest(texts: readonly string[]): Promise<void> {
    const body = `[${texts.join(',')}]`;
    let answer = await post(body);
    if (answer.status === 401) {
      // The token may have been revoked before its end: once with a new one.
      tokens.drop();
      answer = await post(body);
    }
    if (!isGood(answer)) throw failureOf(answer, ingestion);
  }

  return {
    async send(batch) {
      const texts = batch.map(({ text }) => text);
      // Two bytes less: the brackets.
      for (const request of divideBySize(texts, MAX_REQUEST_BYTES - 2)) await sendRequest(request);
      return [];
    },
    close() {
      ingestion.close();
      login.close();
      return Promise.resolve();
    },
  };
}
