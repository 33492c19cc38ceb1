import { randomUUID } from 'node:crypto';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { z } from 'zod';
import { baseUrl, bearerToken } from '../../config/setting-types.ts';
import type { MessageType } from '../../events/domain.ts';
import { OutageError } from '../../lib/errors.ts';
import { createSecrets } from '../../lib/secrets.ts';
import { EndpointRefusedError, type Message, type Sender } from '../sender.ts';
import { failureOf, isGood, jsonOrNothing, readJsonAnswer } from './http-answer.ts';
import { createHttpEndpoint, divideBySize, httpOptions, type Answer } from './http-endpoint.ts';

export const splunkHecOptions = z.strictObject({
  ...httpOptions,
  /** Such as `https://splunk.example:8088`. */
  url: baseUrl,
  token: bearerToken,
  index: z.string().min(1, 'must be the name of an index').optional(),
  source: z.string().default('xiq-sink'),
  /** Of all events; the default is one for each message type (SOURCETYPES). */
  sourcetype: z.string().min(1, 'must be the name of a source type').optional(),
  host: z.string().default(() => os.hostname()),
  /** Waits until the indexers have the events. The token must have "Enable indexer acknowledgement" set. */
  acknowledge: z.boolean('must be true or false').default(false),
});

export type SplunkHecOptions = z.output<typeof splunkHecOptions>;

/** The source type of each message type. The add-on in `integrations/splunk` knows them. */
export const SOURCETYPES: Readonly<Record<MessageType, string>> = {
  AUDIT_LOG_ALL: 'xiq:audit',
  LOCATION_AP_CENTRIC: 'xiq:location:ap',
  LOCATION_CLIENT_CENTRIC: 'xiq:location:client',
  GDPR_LOG_ALL: 'xiq:gdpr',
  CREDENTIAL_LOG_ALL: 'xiq:credential',
  ACCOUNTING_LOG_ALL: 'xiq:accounting',
  AUTHENTICATION_LOG_ALL: 'xiq:authentication',
  EMAIL_LOG_ALL: 'xiq:email',
  SMS_LOG_ALL: 'xiq:sms',
  ALERT: 'xiq:alert',
  OTHER: 'xiq:other',
};

/** The older default of `max_content_length`, in bytes before compression. */
const MAX_REQUEST_BYTES = 1_000_000;

const ACK_POLL_MS = 500;
/** Indexers acknowledge events once they are replicated. Splunk discards an acknowledgement after 10 minutes. */
const ACK_TIMEOUT_MS = 120_000;

/** Codes of 400 answers that concern token, index or channel rather than events. */
const SETTING_CODES = new Set([7, 10, 11, 14, 16]);

const RefusedAnswer = z.object({ code: z.number() });
/** Anything else with status 200 is of a proxy or a login page, and nothing was accepted. */
const AcceptedAnswer = z.object({ code: z.literal(0) });
const AcknowledgedAnswer = AcceptedAnswer.extend({ ackId: z.number() });
const AckAnswer = z.object({ acks: z.record(z.string(), z.boolean()) });

const compress = promisify(gzip);

/**
 * Sends gzipped requests of up to 1 MB. Splunk does not recognize duplicates: an event that is sent again after a lost
 * answer is stored twice, with the same event id.
 */
export function createSplunkHecSender(options: SplunkHecOptions): Sender {
  const secrets = createSecrets([options.token]);
  const endpoint = createHttpEndpoint({ type: 'splunk_hec', url: options.url, secrets, http: options });
  const channel = randomUUID();
  const headers = {
    authorization: `Splunk ${options.token}`,
    'content-type': 'application/json',
    ...(options.acknowledge ? { 'x-splunk-request-channel': channel } : {}),
  };

  async function post(path: string, extra: Readonly<Record<string, string>>, body: string | Buffer) {
    const answer = await endpoint.post(path, { ...headers, ...extra }, body);
    if (isGood(answer)) return answer;
    const failure = failureOf(answer, endpoint);
    throw isAboutSettings(answer) ? new EndpointRefusedError(failure.message) : failure;
  }

  async function sendRequest(envelopes: readonly string[]): Promise<void> {
    const body = await compress(envelopes.join('\n'), { level: 1 });
    const answer = await post('/services/collector/event', { 'content-encoding': 'gzip' }, body);
    if (options.acknowledge) await acknowledged(readJsonAnswer(AcknowledgedAnswer, answer, endpoint).ackId);
    else readJsonAnswer(AcceptedAnswer, answer, endpoint);
  }

  async function acknowledged(ackId: number): Promise<void> {
    const deadline = Date.now() + ACK_TIMEOUT_MS;
    while (Date.now() < deadline) {
      const answer = await post('/services/collector/ack', {}, JSON.stringify({ acks: [ackId] }));
      if (readJsonAnswer(AckAnswer, answer, endpoint).acks[ackId] === true) return;
      await sleep(ACK_POLL_MS);
    }
    throw new OutageError(`${endpoint.name} did not acknowledge a batch within ${ACK_TIMEOUT_MS / 1000} s`);
  }

  return {
    async send(batch) {
      const envelopes = batch.map((message) => envelope(message, options));
      for (const request of divideBySize(envelopes, MAX_REQUEST_BYTES)) await sendRequest(request);
      return [];
    },
    close: endpoint.close,
  };
}

/** Wraps the text unparsed: parsing would take time and round long numbers. */
function envelope({ event, text }: Message, { index, source, host, ...options }: SplunkHecOptions): string {
  const sourcetype = options.sourcetype ?? SOURCETYPES[event.messageType];
  const time = Date.parse(event.occurredAt) / 1000;
  const rest = JSON.stringify({ time, host, source, sourcetype, index });
  return `${rest.slice(0, -1)},"event":${text}}`;
}

function isAboutSettings({ status, text }: Answer): boolean {
  const refused = RefusedAnswer.safeParse(jsonOrNothing(text));
  return status === 400 && refused.success && SETTING_CODES.has(refused.data.code);
}
