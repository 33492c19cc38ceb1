import type { Writable } from 'node:stream';
import { z } from 'zod';
import { OutageError } from '../../errors.ts';
import type { Sender } from '../sender.ts';

/** Standard output, for a container whose lines somebody collects. */
export const stdoutOptions = z.strictObject({});

export const STDOUT_FORMATS = ['json', 'ecs', 'ocsf', 'cef', 'leef'] as const;

/** Writes a line for each event and waits until the stream has taken them. Never closes it. */
export function createStdoutSender(stream: Writable = process.stdout): Sender {
  // The write's own callback reports an error; without a listener its event would end the program.
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
        throw new OutageError('stdout cannot be written', { cause });
      }
      return [];
    },
    close() {
      stream.off('error', ignore);
      return Promise.resolve();
    },
  };
}
