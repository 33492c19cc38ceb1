import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createStdoutSender } from '../../../src/forward/senders/stdout.ts';
import { messages } from './messages.ts';

test('a line for each event, and the stream stays open', async () => {
  const stream = new PassThrough();
  const sender = createStdoutSender(stream);
  expect(await sender.send(messages(2))).toEqual([]);
  await sender.close();
  expect(stream.writable).toBe(true);
  stream.end();
  expect(await text(stream)).toBe(
    messages(2)
      .map((message) => `${message.text}\n`)
      .join(''),
  );
});

test('a batch waits for a reader that is slow', async () => {
  const taken: (() => void)[] = [];
  const slow = new Writable({ write: (_chunk, _encoding, done) => void taken.push(done) });
  const sender = createStdoutSender(slow);
  let isSent = false;
  const sent = sender.send(messages(1)).then(() => (isSent = true));
  await new Promise(setImmediate);
  expect(isSent).toBe(false);
  for (const done of taken) done();
  await sent;
});
