import { z } from 'zod';
import { baseUrl } from '../../config/setting-types.ts';
import { OutageError } from '../../errors.ts';
import { createSecrets } from '../../secrets.ts';
import type { Sender } from '../sender.ts';
import { createAccessTokens } from './client-credentials.ts';
import { describeAnswer, failureOf, isGood, isHtml } from './http-answer.ts';
import { createHttpEndpoint, divideBySize, httpOptions } from './http-endpoint.ts';

const pathSegment = z.string().regex(/^[\w.-]+$/, 'must consist of letters, digits, "_", "-" and "."');

const httpsBaseUrl = baseUrl.refine(
  (url) => url.startsWith('https:'),
  'must be an address that begins with https://',
);

/** Microsoft Sentinel through the Logs Ingestion API of Azure Monitor. */
export const sentinelOptions = z.strictObject({
  ...httpOptions,
  /** The data collection endpoint, such as `https://NAME.REGION-1.ingest.monitor.azure.com`. */
  endpoint: httpsBaseUrl,
  /** The immutable id of the data collection rule, `dcr-` and 32 digits. */
  rule_id: pathSegment,
  /** The stream that the rule declares, such as `Custom-XiqEvents`. */
  stream: pathSegment,
  tenant_id: pathSegment,
  client_id: z.string().min(1, 'must be the id of an application'),
  client_secret: z.string().min(1, 'must be the secret of an application'),
  /** National clouds use other addresses. */
  login_url: httpsBaseUrl.default('https://login.microsoftonline.com'),
  scope: z.string().default('https://monitor.azure.com/.default'),
});

export type SentinelOptions = z.output<typeof sentinelOptions>;

export const SENTINEL_FORMATS = ['json', 'ocsf', 'ecs'] as const;

/** The API accepts 1 MB per call, before compression. */
const MAX_REQUEST_BYTES = 1_000_000;

/** Sends JSON arrays of up to 1 MB with the token of an application that is allowed to publish to the rule. */
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
      // The token may have been revoked before it expired: try once more with a new one.
      tokens.drop();
      answer = await post(body);
    }
    if (!isGood(answer)) throw failureOf(answer, ingestion);
    if (isHtml(answer))
      throw new OutageError(`an HTML page is no receipt: ${describeAnswer(answer, ingestion)}`);
  }

  return {
    async send(batch) {
      const texts = batch.map(({ text }) => text);
      // Minus the two brackets.
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
