import { z } from 'zod';
import { OutageError } from '../../lib/errors.ts';
import { createSecrets, type Secrets } from '../../lib/secrets.ts';
import type { BatchLimits } from '../batch-events.ts';
import { cut } from '../formats/line-formats.ts';
import type { Message, Sender } from '../sender.ts';
import { describeAnswer, failureOf, isGood, isHtml } from './http-answer.ts';
import { createHttpEndpoint, httpOptions, type Answer } from './http-endpoint.ts';
import { httpsAddress, publicOnlyOption } from './https.ts';

export const chatOptions = z.strictObject({
  ...httpOptions,
  ...publicOnlyOption,
  /** The whole address is a credential: anyone who knows it can post. */
  url: httpsAddress,
  service: z.enum(['slack', 'teams'], 'must be slack or teams'),
});

type ChatOptions = z.output<typeof chatOptions>;

/** Even if every character is escaped, a message stays below the limits of Slack (40,000 characters) and Teams (28 KB). */
export const CHAT_LIMITS: BatchLimits = { events: 20, bytes: 7_500, seconds: 10 };

/** A longer event is cut off, in characters, for the same reason. */
const MAX_EVENT_LENGTH = 5_000;

interface Service {
  readonly message: (lines: readonly string[]) => object;
  /** Whether a good answer is this service's receipt. */
  readonly isReceipt: (answer: Answer) => boolean;
}

const SERVICES: Readonly<Record<ChatOptions['service'], Service>> = {
  slack: {
    message: (lines) => ({
      text: lines.map(escapeForSlack).join('\n'),
      // A text of an event must neither format itself nor make Slack fetch addresses.
      mrkdwn: false,
      unfurl_links: false,
      unfurl_media: false,
    }),
    isReceipt: ({ status, text }) => status === 200 && text.trim() === 'ok',
  },
  teams: {
    message: (lines) => ({
      type: 'message',
      attachments: [
        { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: toCard(lines) },
      ],
    }),
    // The older connectors report their failures with status 200.
    isReceipt: (answer) =>
      (answer.status === 200 || answer.status === 202) &&
      !isHtml(answer) &&
      !/\bdelivery failed\b/i.test(answer.text),
  },
};

/** Sends each batch as one message, a line or paragraph for each event. Chat services do not recognize duplicates. */
export function createChatSender(options: ChatOptions): Sender {
  const service = SERVICES[options.service];
  const endpoint = createHttpEndpoint({
    type: 'chat',
    url: options.url,
    secrets: secretsOf(options.url),
    http: options,
    publicOnly: !options.allow_private,
  });

  return {
    async send(batch) {
      const body = JSON.stringify(service.message(batch.map(lineOf)));
      const answer = await endpoint.post('', { 'content-type': 'application/json' }, body);
      if (!isGood(answer)) throw failureOf(answer, endpoint);
      if (!service.isReceipt(answer)) {
        throw new OutageError(`not a receipt of ${options.service}: ${describeAnswer(answer, endpoint)}`);
      }
      return [];
    },
    close: endpoint.close,
  };
}

const lineOf = ({ event, text }: Message): string =>
  text.length <= MAX_EVENT_LENGTH ? text : `${cut(text, MAX_EVENT_LENGTH)}… (event ${event.eventId})`;

/** The three characters that begin links, mentions and escapes (https://docs.slack.dev/messaging/formatting-message-text). */
const escapeForSlack = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const toCard = (lines: readonly string[]) => ({
  $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
  type: 'AdaptiveCard',
  version: '1.2',
  msteams: { width: 'Full' },
  body: lines.map((text) => ({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', text }] })),
});

/** Shorter parts of an address are words of its path, which an error may contain by chance. */
const MIN_SECRET_LENGTH = 16;

/** The parts of the address that make it a credential, as they are written and as they are meant. */
function secretsOf(url: string): Secrets {
  const { pathname, search, searchParams } = new URL(url);
  const parts = [
    `${pathname}${search}`,
    ...pathname.split('/'),
    ...search.split(/[?&=]/),
    ...searchParams.values(),
  ];
  return createSecrets(parts.filter((part) => part.length >= MIN_SECRET_LENGTH));
}
