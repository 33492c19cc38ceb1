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

/** A receiver that accepts connections and then closes them needs at least this time to do so. */
const SETTLE_MS = 20;

/**
 * The wait while it is not known that batches arrive: before the first one, and after a failure. It is longer than a busy
 * machine takes, and than HAProxy tries to reach a dead server by default: four times, a second apart.
 */
export const PATIENCE_MS = 5_000;

interface SyslogReceiver {
  readonly patienceMs: number;
  /** For errors: what the receiver is and its address. */
  readonly name: string;
  readonly connect: () => Promise<SyslogConnection>;
}

/** A receiver that has read a batch closes its end within this time. A proxy that has lost its server takes longer. */
const PROMPT_MS = 1_000;

/**
 * Opens a connection for each batch. The batch has arrived when the receiver, having read to the end, closes the
 * connection in turn. A receiver that is stopped, killed or cut off before that does not. One that closes before we do
 * has not accepted the batch. One that closes late may be a proxy that tries to reach a dead server: if it closed
 * promptly before, the batch is sent again with the long wait.
 */
export function confirmedTransport({ name, connect, patienceMs }: SyslogReceiver): SyslogTransport {
  let isProven = false;
  return {
    async send(frames) {
      let connection: SyslogConnection | undefined;
      const wasProven = isProven;
      isProven = false;
      try {
        connection = await connect();
        await connection.write(frames);
        await connection.settle(wasProven ? SETTLE_MS : patienceMs);
        const ended = performance.now();
        await connection.finish();
        isProven = performance.now() - ended < PROMPT_MS;
        if (wasProven && !isProven) throw new Error('the receiver closed the connection late');
      } catch (cause) {
        connection?.destroy();
        throw new OutageError(`${name} did not accept a batch`, { cause });
      }
    },
    close: () => Promise.resolve(),
  };
}

/**
 * Keeps one connection. A batch counts as sent when our operating system has accepted it and the receiver does not close
 * the connection right after that. If the connection is found broken later, its last batch is sent again before the next
 * one. Earlier batches are not sent again: at most the content of the socket's buffers is lost, a few megabytes.
 */
export function keptTransport({ name, connect, patienceMs }: SyslogReceiver): SyslogTransport {
  let connection: SyslogConnection | undefined;
  let last: readonly string[] = [];

  async function reconnect(): Promise<SyslogConnection> {
    connection = await connect();
    await connection.settle(patienceMs);
    if (last.length > 0) await connection.write(last);
    return connection;
  }

  return {
    async send(frames) {
      try {
        if (connection?.isBroken() === true) connection = undefined;
        const sent = connection ?? (await reconnect());
        await sent.write(frames);
        await sent.settle(SETTLE_MS);
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
