import os from 'node:os';
import { z } from 'zod';
import type { Refusal, Sender } from '../sender.ts';
import { openDatagrams } from './syslog-datagrams.ts';
import { confirmedDelivery, keptDelivery } from './syslog-delivery.ts';
import type { Delivery } from './syslog-delivery.ts';
import { FACILITIES, SEVERITIES, syslogMessage } from './syslog-message.ts';
import { openStream } from './syslog-stream.ts';
import { tlsOptions } from './tls-options.ts';

const PORT = 'takes a port from 1 to 65535';
const DATAGRAM = 'takes bytes from 480 to 65507';

const common = {
  host: z.string().min(1, 'takes a host name or address'),
  facility: z.enum(FACILITIES, `takes one of ${FACILITIES.join(', ')}`).default('local0'),
  severity: z.enum(SEVERITIES, `takes one of ${SEVERITIES.join(', ')}`).default('info'),
  /** What stands as the sending host in each message. */
  hostname: z
    .string()
    .regex(/^[\u0021-\u007e]{1,255}$/, 'takes up to 255 printable ASCII characters without spaces')
    .default(() => os.hostname()),
};

const port = (usual: number) => z.int(PORT).min(1, PORT).max(65_535, PORT).default(usual);

const stream = {
  ...common,
  /** Each message with its length before it (RFC 6587, 5425), or with a line feed behind it. */
  framing: z.enum(['octet-counting', 'lf'], 'takes octet-counting or lf').default('octet-counting'),
  /** A connection for each batch, which the receiver closes when it has read it; false keeps one connection. */
  confirm: z.boolean('takes true or false').default(true),
  timeout_seconds: z.number().min(0.1, 'takes seconds from 0.1').default(30),
};

/** A syslog receiver. */
export const syslogOptions = z.discriminatedUnion(
  'transport',
  [
    z.strictObject({
      transport: z.literal('udp'),
      ...common,
      port: port(514),
      /** What does not fit is refused; 8 kB is where rsyslog cuts messages off unless told otherwise. */
      max_datagram_bytes: z.int(DATAGRAM).min(480, DATAGRAM).max(65_507, DATAGRAM).default(8192),
    }),
    z.strictObject({ transport: z.literal('tcp'), ...stream, port: port(514) }),
    z.strictObject({
      transport: z.literal('tls'),
      ...stream,
      port: port(6514),
      tls: tlsOptions.prefault({}),
    }),
  ],
  'takes a transport out of udp, tcp, tls',
);

export type SyslogOptions = z.output<typeof syslogOptions>;

export const SYSLOG_FORMATS = ['cef', 'leef', 'json', 'ecs', 'ocsf'] as const;

/**
 * Sends RFC 5424 messages by UDP, TCP or TLS. A receiver may have a limit of its own to a message's length, beyond
 * which it cuts or divides without a word: rsyslog 8 kB (`maxMessageSize`), syslog-ng 64 kB (`log-msg-size()`).
 */
export function createSyslogSender(options: SyslogOptions): Sender {
  const delivery = deliveryOf(options);
  return {
    async send(batch) {
      const frames: string[] = [];
      const refusals: Refusal[] = [];
      for (const [index, message] of batch.entries()) {
        const text = syslogMessage(message, options);
        const reason = whyNot(text, options);
        if (reason === undefined) frames.push(frame(text, options));
        else refusals.push({ index, reason });
      }
      if (frames.length > 0) await delivery.deliver(frames);
      return refusals;
    },
    close: () => delivery.close(),
  };
}

function deliveryOf(options: SyslogOptions): Delivery {
  const { transport, host, port } = options;
  const name = `syslog at ${transport}://${host}:${port}`;
  if (transport === 'udp') return keptDelivery({ name, open: () => openDatagrams(host, port) });
  const tls = transport === 'tls' ? options.tls : undefined;
  const open = () => openStream({ host, port, tls, timeoutMs: options.timeout_seconds * 1000 });
  return options.confirm ? confirmedDelivery({ name, open }) : keptDelivery({ name, open });
}

function whyNot(text: string, options: SyslogOptions): string | undefined {
  if (options.transport === 'udp') {
    const bytes = Buffer.byteLength(text);
    if (bytes <= options.max_datagram_bytes) return undefined;
    return `its ${bytes} bytes do not fit into a datagram of ${options.max_datagram_bytes} (max_datagram_bytes)`;
  }
  return options.framing === 'lf' && text.includes('\n')
    ? 'it has a line feed inside, which would end it on this destination (framing: lf)'
    : undefined;
}

function frame(text: string, options: SyslogOptions): string {
  if (options.transport === 'udp') return text;
  return options.framing === 'lf' ? `${text}\n` : `${Buffer.byteLength(text)} ${text}`;
}
