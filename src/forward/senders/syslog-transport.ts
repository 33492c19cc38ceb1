import { OutageError } from '../../errors.ts';
import type { SyslogConnection } from './syslog-connection.ts';

/**
 * Carries frames to a syslog receiver. Syslog has no acknowledgement: what was written sits in the buffers of two
 * operating systems and of everything between them, and is lost with them. Two transports deal with that in different
 * ways. Both throw OutageError for a batch that must be sent again, and both may send again what had already arrived.
 */
export interface SyslogTransport {
  send(frames: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

interface SyslogReceiver {
  /** For errors: what the receiver is and its address. */
  readonly name: string;
  readonly connect: () => Promise<SyslogConnection>;
}

/**
 * Opens a connection for each batch. The batch has arrived when the receiver, having read to the end, closes the
 * connection in turn. A receiver that is stopped, killed or cut off before that does not.
 */
export function confirmedTransport({ name, connect }: SyslogReceiver): SyslogTransport {
  return {
    async send(frames) {
      let connection: SyslogConnection | undefined;
      try {
        connection = await connect();
        await connection.write(frames);
        await connection.finish();
      } catch (cause) {
        connection?.destroy();
        throw new OutageError(`${name} did not accept a batch`, { cause });
      }
    },
    close: () => Promise.resolve(),
  };
}

/**
 * Keeps one connection. A batch counts as sent when our operating system has accepted it. If the connection is found
 * broken later, its last batch is sent again before the next one. Earlier batches are not sent again: at most the
 * content of the socket's buffers is lost, a few megabytes.
 */
export function keptTransport({ name, connect }: SyslogReceiver): SyslogTransport {
  let connection: SyslogConnection | undefined;
  let last: readonly string[] = [];

  async function reconnect(): Promise<SyslogConnection> {
    const opened = await connect();
    connection = opened;
    await opened.write(last);
    return opened;
  }

  return {
    async send(frames) {
      try {
        if (connection?.isBroken() === true) connection = undefined;
        await (connection ?? (await reconnect())).write(frames);
        last = frames;
      } catch (cause) {
        connection?.destroy();
        connection = undefined;
        throw new OutageError(`${name} did not accept a batch`, { cause });
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
