import type { LookupFunction } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { createHttpsSender, httpsOptions } from '../../../src/forward/senders/https.ts';
import { EndpointRefusedError, type Message } from '../../../src/forward/sender.ts';
import { hasOpenssl } from '../../support/certificates.ts';
import { useCertificate } from '../../support/use-certificate.ts';
import { messages, untilTestEnds } from './messages.ts';
import { inTurn, standIn } from '../../support/stand-in.ts';

const SIGNING_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

describe.skipIf(!hasOpenssl)('https (needs openssl on PATH to make certificates)', () => {
  const certificate = useCertificate('IP:127.0.0.1', 'DNS:siem.test');

  const senderTo = (url: string, more: object = {}, lookup?: LookupFunction) => {
    const options = { url, allow_private: true, tls: { ca: certificate.cert }, ...more };
    return untilTestEnds(createHttpsSender(httpsOptions.parse(options), lookup));
  };

  test('a batch is one JSON array with our own headers', async () => {
    await using server = await standIn(inTurn({ status: 204 }), certificate);
    const sender = senderTo(`${server.url}/in?key=1`, { headers: { 'X-Api-Key': 'k' } });
    expect(await sender.send(messages(2))).toEqual([]);
    const [request] = server.received;
    expect(request?.url).toBe('/in?key=1');
    expect(request?.headers).toMatchObject({ 'x-api-key': 'k', 'content-type': 'application/json' });
    expect(JSON.parse(request?.body ?? '')).toEqual(messages(2).map(({ text }): unknown => JSON.parse(text)));
  });

  test.each([
    [{}, 'application/x-ndjson'],
    [{ content_type: 'application/json' }, 'application/json'],
  ])('or lines of JSON, with %j of the type %s', async (given, type) => {
    await using server = await standIn(inTurn({}), certificate);
    const sender = senderTo(server.url, { body: 'ndjson', ...given });
    await sender.send(messages(2));
    const lines = messages(2).map(({ text }) => `${text}\n`);
    expect(server.received[0]).toMatchObject({ headers: { 'content-type': type }, body: lines.join('') });
  });

  test('it is signed as Standard Webhooks says, and a batch keeps its id when it is sent again', async () => {
    await using server = await standIn(inTurn('cut', {}), certificate);
    // A sender made anew each time: the id survives a restart, too.
    const send = (batch: readonly Message[]) =>
      senderTo(server.url, { signing_secret: SIGNING_SECRET }).send(batch);
    await expect(send(messages(2))).rejects.toThrow("can't reach");
    // After a move of the database, the numbers of the rows are others.
    await send(messages(2).map(({ event, text }) => ({ event: { ...event, id: `1${event.id}` }, text })));
    await send(messages(3));
    await send(messages(2).toReversed());

    for (const { body, headers } of server.received) {
      const signed = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, String(value)]),
      );
      expect(new Webhook(SIGNING_SECRET).verify(body, signed)).toEqual(JSON.parse(body));
    }
    const [first, second, ...others] = server.received.map(({ headers }) => headers['webhook-id']);
    expect(second).toBe(first);
    expect(new Set([first, ...others]).size).toBe(3);
  });

  describe('in our own network', () => {
    const toLoopback: LookupFunction = (_host, { all }, callback) => {
      if (all === true) callback(null, [{ address: '127.0.0.1', family: 4 }]);
      else callback(null, '127.0.0.1', 4);
    };

    test.each(['2130706433', '[::ffff:a9fe:a9fe]'])('%s is not connected to', async (host) => {
      const sender = senderTo(`https://${host}/`, { allow_private: false });
      await expect(sender.send(messages(1))).rejects.toThrow(EndpointRefusedError);
    });

    test('a name that leads there is not connected to, unless it is allowed', async () => {
      await using server = await standIn(inTurn({}), certificate);
      const url = `https://siem.test:${server.port}/`;
      const refusing = senderTo(url, { allow_private: false }, toLoopback);
      await expect(refusing.send(messages(1))).rejects.toThrow(/allow_private/);
      expect(server.received).toHaveLength(0);

      const allowed = senderTo(url, {}, toLoopback);
      expect(await allowed.send(messages(1))).toEqual([]);
      expect(server.received).toHaveLength(1);
    });

    test('every connection is checked anew: a name that leads there later is not connected to', async () => {
      await using server = await standIn(inTurn({}), certificate);
      let asked = 0;
      const rebinding: LookupFunction = (host, lookupOptions, callback) => {
        if (asked++ > 0) toLoopback(host, lookupOptions, callback);
        else callback(new Error('no such name'), []);
      };
      const url = `https://siem.test:${server.port}/`;
      const sender = senderTo(url, { allow_private: false }, rebinding);
      await expect(sender.send(messages(1))).rejects.toThrow("can't reach");
      await expect(sender.send(messages(1))).rejects.toThrow(EndpointRefusedError);
      expect(server.received).toHaveLength(0);
    });

    test('one address there among public ones is enough to be refused', async () => {
      const mixed: LookupFunction = (_host, _options, callback) => {
        callback(null, [
          { address: '8.8.8.8', family: 4 },
          { address: '10.0.0.1', family: 4 },
        ]);
      };
      const sender = senderTo('https://siem.test/', { allow_private: false }, mixed);
      await expect(sender.send(messages(1))).rejects.toThrow(EndpointRefusedError);
    });
  });
});
