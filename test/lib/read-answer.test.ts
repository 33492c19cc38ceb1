import { expect, it } from 'vitest';
import { readAnswer } from '../../src/lib/read-answer.ts';

it('reads an answer of any length up to the limit', async () => {
  expect((await readAnswer(new Response('x'.repeat(10)), 10, 'it')).toString()).toBe('x'.repeat(10));
  expect(await readAnswer(new Response(null), 10, 'it')).toHaveLength(0);
});

it('gives up one that is longer, and reads no more of it', async () => {
  let sent = 0;
  const body = new ReadableStream({
    pull(controller) {
      sent += 1;
      controller.enqueue(Buffer.from('12345'));
    },
  });
  await expect(readAnswer(new Response(body), 10, 'it')).rejects.toThrow('it sent more than 10 bytes');
  expect(sent).toBeLessThan(10);
});
