import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { describeError } from '../../../src/lib/errors.ts';
import { CHAT_LIMITS, chatOptions, createChatSender } from '../../../src/forward/senders/chat.ts';
import { hasOpenssl } from '../../support/certificates.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { messages, storedEvent } from './messages.ts';
import { inTurn, standIn, type StandIn } from '../../support/stand-in.ts';

const TOKEN = 'token-of-the-webhook-24';
const PATH = `/services/T00000000/B00000000/${TOKEN}?sig=a%2Fsignature-that-is-long`;
const RECEIPTS = { slack: { raw: 'ok' }, teams: { status: 202 } } as const;
type Service = keyof typeof RECEIPTS;

const slackMessage = z.object({ text: z.string(), mrkdwn: z.literal(false) });
const teamsMessage = z.object({
  type: z.literal('message'),
  attachments: z.tuple([
    z.object({
      contentType: z.literal('application/vnd.microsoft.card.adaptive'),
      content: z.object({
        type: z.literal('AdaptiveCard'),
        body: z.array(
          z.object({
            type: z.literal('RichTextBlock'),
            inlines: z.tuple([z.strictObject({ type: z.literal('TextRun'), text: z.string() })]),
          }),
        ),
      }),
    }),
  ]),
});

/** The lines as the service shows them. */
function shown(service: Service, body: string): string[] {
  const parsed: unknown = JSON.parse(body);
  if (service === 'teams') {
    return teamsMessage.parse(parsed).attachments[0].content.body.map(({ inlines: [{ text }] }) => text);
  }
  const { text } = slackMessage.parse(parsed);
  expect(text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
  const unescaped = text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  return unescaped.split('\n');
}

describe.skipIf(!hasOpenssl)('chat (needs openssl on PATH to make certificates)', () => {
  const certificate = useCertificate('IP:127.0.0.1');

  function senderTo({ url }: StandIn, service: Service, more: object = {}) {
    const tls = { ca: certificate.cert };
    const given = { url: `${url}${PATH}`, service, allow_private: true, tls, ...more };
    const sender = createChatSender(chatOptions.parse(given));
    onTestFinished(() => sender.close());
    return sender;
  }

  test.each(['slack', 'teams'] as const)('%s gets a batch as one message', async (service) => {
    await using server = await standIn(inTurn(RECEIPTS[service]), certificate);
    expect(await senderTo(server, service).send(messages(3))).toEqual([]);
    expect(server.received).toHaveLength(1);
    const [request] = server.received;
    expect(request).toMatchObject({ url: PATH, headers: { 'content-type': 'application/json' } });
    expect(shown(service, request?.body ?? '')).toEqual(messages(3).map(({ text }) => text));
  });

  test.each(['slack', 'teams'] as const)('any text is shown by %s as it is', async (service) => {
    await using server = await standIn(inTurn(RECEIPTS[service]), certificate);
    const sender = senderTo(server, service);
    const hostile = fc.constantFrom(
      '<!channel>',
      '&lt;',
      '<https://evil.test|log in>',
      '[a](b)',
      '*x*',
      '"\\',
    );
    const line = fc.array(hostile, { minLength: 1 }).map((parts) => parts.join(' '));
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 20 }), async (lines) => {
        await sender.send(lines.map((text, index) => ({ event: storedEvent(index), text })));
        expect(shown(service, server.received.at(-1)?.body ?? '')).toEqual(lines);
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ['slack', 40_000],
    ['teams', 28_000],
  ] as const)('a message for %s is never longer than %i characters', async (service, most) => {
    await using server = await standIn(inTurn(RECEIPTS[service]), certificate);
    const sender = senderTo(server, service);
    const event = storedEvent(7);
    // The longest batch of several events, and one event that is longer by itself.
    const many = Array.from({ length: CHAT_LIMITS.events }, () =>
      '&'.repeat(CHAT_LIMITS.bytes / CHAT_LIMITS.events),
    );
    for (const texts of [many, ['&'.repeat(100_000)], ['€'.repeat(100_000)]]) {
      await sender.send(texts.map((text) => ({ event, text })));
      expect(Buffer.byteLength(server.received.at(-1)?.body ?? '')).toBeLessThan(most);
    }
    expect(shown(service, server.received.at(-1)?.body ?? '')[0]).toMatch(
      new RegExp(`€… \\(event ${event.eventId}\\)$`),
    );
  });

  test('no error quotes a part of the address, as it is written or as it is meant', async () => {
    const raw = `no ${PATH}, ${TOKEN}, a/signature-that-is-long; T00000000 is known`;
    await using server = await standIn(inTurn({ status: 404, raw }), certificate);
    const failure: unknown = await senderTo(server, 'slack')
      .send(messages(2))
      .catch((error: unknown) => error);
    expect(describeError(failure)).toMatch(/chat at https:\/\/127\.0\.0\.1:\d+/);
    expect(describeError(failure)).not.toMatch(/token-of|signature|services/);
    expect(describeError(failure)).toContain('T00000000 is known');
  });

  test('an address in our own network is not connected to, unless it is allowed', async () => {
    await using server = await standIn(inTurn(RECEIPTS.slack), certificate);
    const sending = senderTo(server, 'slack', { allow_private: false }).send(messages(1));
    await expect(sending).rejects.toThrow(/allow_private/);
    expect(server.received).toHaveLength(0);
  });
});
