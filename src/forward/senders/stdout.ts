import type { Writable } from 'node:stream';
import { z } from 'zod';
import { OutageError } from '../../lib/errors.ts';
import type { Sender } from '../sender.ts';

/** Standard output, for a container whose output is collected. */
export const stdoutOptions = z.strictObject({});

/** Writes a line for each event and waits until the stream has accepted the batch. Never closes the stream. */
export function createStdoutSender(stream: Writable = process.stdout): Sender {
  // The callback of the write reports an error; without a listener the error event would end the program.
  const ignore = () => undefined;
  stream.on('error', ignore);

  return {
    async send(batch) {
      const lines = batch.map(({ text }) => `${text}\n`).join('');
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      stream.write(lines, (error) => (error ? reject(error) : resolve()));
      try {
        await promise;
      } catch (cause) {
        throw new OutageError("can't write to stdout", { cause });
      }
      return [];
    },
    close() {
      stream.off('error', ignore);
      return Promise.resolve();
    },
  };
}
