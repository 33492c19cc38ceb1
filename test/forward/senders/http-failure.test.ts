import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSplunkHecSender, splunkHecOptions } from '../../../src/forward/senders/splunk-hec.ts';
import { BatchRefusedError } from '../../../src/forward/sender.ts';
import { message, messages, untilTestEnds } from './messages.ts';
import { standIn } from '../../support/stand-in.ts';
import { tcpServer } from '../../support/tcp-server.ts';

// Every destination reached by HTTP reads answers the same way; one of them stands for all.

const TOKEN = 'a-token-that-nobody-may-see';

const senderTo = (url: string) =>
  untilTestEnds(createSplunkHecSender(splunkHecOptions.parse({ url, token: TOKEN, timeout_seconds: 5 })));

test('an answer is quoted, but for secrets and what goes beyond 300 characters', async () => {
  const raw = `no token ${TOKEN} here, ${'long '.repeat(1000)}`;
  await using server = await standIn(() => ({ status: 401, raw }));
  const error: unknown = await senderTo(server.url)
    .send(messages(1))
    .catch((reason: unknown) => reason);
  expect(error).toHaveProperty('message', expect.stringContaining('no token [hidden] here'));
  expect(error).toHaveProperty(
    'message.length',
    expect.toSatisfy((length: number) => length < 400),
  );
});

test('an answer that comes before the request is read counts, though the connection breaks', async () => {
  const { port } = await tcpServer((socket) => {
    socket.once('data', () => {
      socket.pause().write('HTTP/1.1 413 Too Large\r\nContent-Length: 5\r\n\r\n');
      setTimeout(() => socket.resetAndDestroy(), 20);
    });
  });
  // Bytes that gzip cannot make fewer, and more than the buffers of both ends hold.
  const large = message(1, randomBytes(20_000_000).toString('hex'));
  await expect(senderTo(`http://127.0.0.1:${port}`).send([large])).rejects.toThrow(BatchRefusedError);
});
