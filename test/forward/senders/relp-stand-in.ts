import type { Socket } from 'node:net';
import type tls from 'node:tls';
import { tcpServer } from '../../support/tcp-server.ts';

/** A command that the sender sent. */
export interface Command {
  readonly txnr: number;
  readonly command: string;
  readonly data: string;
}

/** A RELP receiver's answer to an accepted `open`. */
export const ACCEPTED = '200 OK\nrelp_version=0\nrelp_software=stand-in\ncommands=syslog';

export const rsp = (txnr: number, data: string) => `${txnr} rsp ${Buffer.byteLength(data)} ${data}\n`;

/** Writes the answer of a receiver that accepts everything. */
export function acceptAll(socket: Socket, { txnr, command }: Command): void {
  socket.write(rsp(txnr, command === 'open' ? ACCEPTED : '200 OK'));
}

/**
 * A RELP receiver on loopback. `onCommand` answers, with the number of the connection; `commands` has what each
 * connection received.
 */
export async function relpReceiver(
  onCommand: (socket: Socket, command: Command, connection: number) => void = acceptAll,
  secure?: tls.TlsOptions,
) {
  const commands: Command[][] = [];
  const { port, sockets } = await tcpServer(
    (socket, connection) => {
      const own: Command[] = [];
      commands.push(own);
      let unread = '';
      // Each byte is a character, so that lengths are those of the frames.
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        unread += chunk;
        for (;;) {
          const [header, txnr, command = '', length] = /^(\d+) ([a-z]+) (\d+) ?/.exec(unread) ?? [];
          const end = (header?.length ?? 0) + Number(length) + 1;
          if (header === undefined || unread.length < end) return;
          if (unread[end - 1] !== '\n') throw new Error(`no line feed after ${header}`);
          const data = Buffer.from(unread.slice(header.length, end - 1), 'latin1').toString();
          unread = unread.slice(end);
          own.push({ txnr: Number(txnr), command, data });
          onCommand(socket, { txnr: Number(txnr), command, data }, connection);
        }
      });
    },
    { secure },
  );
  const events = (connection: number) =>
    (commands[connection] ?? []).filter(({ command }) => command === 'syslog').map(({ data }) => data);
  return { port, sockets, commands, events };
}
