import { describe, expect, test, vi } from 'vitest';
import { createSentinelSender, sentinelOptions } from '../../../src/forward/senders/sentinel.ts';
import { EndpointRefusedError } from '../../../src/forward/sender.ts';
import { hasOpenssl } from '../../support/certificates.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { message, messages, untilTestEnds } from './messages.ts';
import { inTurn, standIn, type Script } from '../../support/stand-in.ts';

describe.skipIf(!hasOpenssl)('sentinel (needs openssl on PATH to make certificates)', () => {
  const certificate = useCertificate('IP:127.0.0.1');

  const senderTo = (ingestion: { url: string }, login: { url: string }) =>
    untilTestEnds(
      createSentinelSender(
        sentinelOptions.parse({
          endpoint: ingestion.url,
          login_url: login.url,
          rule_id: 'dcr-1',
          stream: 'Custom-Events',
          tenant_id: 'tenant',
          client_id: 'app',
          client_secret: 'the client’s secret',
          tls: { ca: certificate.cert },
        }),
      ),
    );

  /** Gives out token-0, token-1 and so on. */
  const tokensIn =
    (seconds: number): Script =>
    (_request, index) => ({ json: { access_token: `token-${index}`, expires_in: seconds } });

  test('batches are posted to the stream with the token of one login', async () => {
    await using login = await standIn(tokensIn(3600), certificate);
    await using ingestion = await standIn(inTurn({ status: 204 }), certificate);
    const sender = senderTo(ingestion, login);
    for (const from of [0, 2]) expect(await sender.send(messages(2, from))).toEqual([]);

    expect(login.received).toHaveLength(1);
    expect(login.received[0]).toMatchObject({
      url: '/tenant/oauth2/v2.0/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
    expect(Object.fromEntries(new URLSearchParams(login.received[0]?.body))).toEqual({
      grant_type: 'client_credentials',
      client_id: 'app',
      client_secret: 'the client’s secret',
      scope: 'https://monitor.azure.com/.default',
    });
    expect(ingestion.received.map(({ url }) => url)).toEqual(
      Array(2).fill('/dataCollectionRules/dcr-1/streams/Custom-Events?api-version=2023-01-01'),
    );
    expect(ingestion.received[1]?.headers.authorization).toBe('Bearer token-0');
    expect(ingestion.received[1]?.body).toBe(
      `[${messages(2, 2)
        .map(({ text }) => text)
        .join(',')}]`,
    );
  });

  test('a token is renewed before its end', async () => {
    await using login = await standIn(tokensIn(600), certificate);
    await using ingestion = await standIn(inTurn({ status: 204 }), certificate);
    const sender = senderTo(ingestion, login);
    vi.useFakeTimers({ toFake: ['Date'] });
    try {
      await sender.send(messages(1));
      vi.setSystemTime(Date.now() + 530_000);
      await sender.send(messages(1));
      vi.setSystemTime(Date.now() + 20_000);
      await sender.send(messages(1));
    } finally {
      vi.useRealTimers();
    }
    expect(ingestion.received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer token-0',
      'Bearer token-0',
      'Bearer token-1',
    ]);
  });

  test('a token that is not accepted is replaced once', async () => {
    await using login = await standIn(tokensIn(3600), certificate);
    await using ingestion = await standIn(
      inTurn({ status: 401 }, { status: 204 }, { status: 401 }),
      certificate,
    );
    const sender = senderTo(ingestion, login);
    expect(await sender.send(messages(1))).toEqual([]);
    await expect(sender.send(messages(1))).rejects.toThrow(EndpointRefusedError);
    expect(login.received).toHaveLength(3);
  });

  test('a request has at most 1 MB', async () => {
    await using login = await standIn(tokensIn(3600), certificate);
    await using ingestion = await standIn(inTurn({ status: 204 }), certificate);
    const sender = senderTo(ingestion, login);
    const large = Array.from({ length: 40 }, (_, number) => message(number, 'x'.repeat(60_000)));
    await sender.send(large);
    expect(ingestion.received.flatMap(({ body }): unknown => JSON.parse(body))).toHaveLength(40);
    for (const { body } of ingestion.received) expect(body.length).toBeLessThanOrEqual(1_000_000);
  });
});
