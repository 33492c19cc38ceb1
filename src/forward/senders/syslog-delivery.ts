import { OutageError } from '../../errors.ts';
import type { Connection } from './syslog-connection.ts';

/**
 * Syslog has no acknowledgement. What was written is in the buffers of two operating systems and of whatever stands
 * between them, and is gone with them. Two ways to live with that; both throw OutageError for a batch that has to be
 * sent again, and both may send again what had arrived.
 */
export interface Delivery {
  deliver(frames: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** Where the receiver is, for errors, and how to connect to it. */
interface Way {
  readonly name: string;
  readonly open: () => Promise<Connection>;
}

/**
 * A connection for each batch. The batch has arrived when the receiver, at the end of what it could read, closes the
 * connection in its turn: a receiver that is stopped, killed or cut off before does not.
 */
export function confirmedDelivery({ name, open }: Way): Delivery {
  return {
    async deliver(frames) {
      let connection: Connection | undefined;
      try {
        connection = await open();
        await connection.write(frames);
        await connection.finish();
      } catch (cause) {
        connection?.destroy();
        throw new OutageError(`${name} has not taken a batch`, { cause });
      }
    },
    close: () => Promise.resolve(),
  };
}

/**
 * One connection that is kept. A batch counts as delivered when our operating system has it; when the connection is
 * found broken after that, its last batch is sent again, before the next. What was lost of earlier batches stays lost:
 * at most what the socket's buffers hold, some megabytes.
 */
export function keptDelivery({ name, open }: Way): Delivery {
  let connection: Connection | undefined;
  let last: readonly string[] = [];

  async function connect(): Promise<Connection> {
    const opened = await open();
    connection = opened;
    await opened.write(last);
    return opened;
  }

  return {
    async deliver(frames) {
      try {
        if (connection?.isBroken() === true) connection = undefined;
        await (connection ?? (await connect())).write(frames);
        last = frames;
      } catch (cause) {
        connection?.destroy();
        connection = undefined;
        throw new OutageError(`${name} has not taken a batch`, { cause });
      }
    },
    async close() {
      try {
        await connection?.finish();
      } catch (cause) {
        throw new OutageError(`${name} may have lost the last batch`, { cause });
      }
    },
  };
}
