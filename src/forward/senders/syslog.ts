import os from 'node:os';
import { z } from 'zod';
import type { Message, Refusal, Sender } from '../sender.ts';
import { openDatagrams, openStream } from './syslog-connection.ts';
import { confirmedTransport, keptTransport, type SyslogTransport } from './syslog-transport.ts';
import { tlsOptions } from './tls-options.ts';

/** The facilities of RFC 5424, table 1, by the names that syslog daemons use; the index is the code. */
const FACILITIES = [
  'kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock',
  'local0 local1 local2 local3 local4 local5 local6 local7',
].flatMap((names) => names.split(' '));

/** The severities of RFC 5424, table 2; the index is the code. */
const SEVERITIES = ['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug'];

/** The id of the structured data; RFC 5612 reserves enterprise number 32473 for examples and private use. */
const SD_ID = 'xiq@32473';

const PORT = 'must be a port from 1 to 65535';
const DATAGRAM = 'must be 480 to 65507 bytes';

const common = {
  host: z.string().min(1, 'must be a host name or address'),
  facility: z.enum(FACILITIES, `must be one of ${FACILITIES.join(', ')}`).default('local0'),
  severity: z.enum(SEVERITIES, `must be one of ${SEVERITIES.join(', ')}`).default('info'),
  /** The host name in each message. */
  hostname: z
    .string()
    .regex(/^[\u0021-\u007e]{1,255}$/, 'must be at most 255 printable ASCII characters without spaces')
    .default(() => os.hostname()),
};

const port = (usual: number) => z.int(PORT).min(1, PORT).max(65_535, PORT).default(usual);

const stream = {
  ...common,
  /** Each message is sent with its length before it (RFC 6587, 5425), or with a line feed after it. */
  framing: z.enum(['octet-counting', 'lf'], 'must be octet-counting or lf').default('octet-counting'),
  /** Opens a connection for each batch, which the receiver closes after reading it; false keeps one connection. */
  confirm: z.boolean('must be true or false').default(true),
  timeout_seconds: z.number().min(0.1, 'must be at least 0.1 seconds').default(30),
};

/** A syslog receiver. */
export const syslogOptions = z.discriminatedUnion(
  'transport',
  [
    z.strictObject({
      transport: z.literal('udp'),
      ...common,
      port: port(514),
      /** Larger messages are refused. By default, rsyslog truncates messages at 8 kB. */
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
  'must have a transport: udp, tcp or tls',
);

export type SyslogOptions = z.output<typeof syslogOptions>;

export const SYSLOG_FORMATS = ['cef', 'leef', 'json', 'ecs', 'ocsf'] as const;

/**
 * Sends RFC 5424 messages over UDP, TCP or TLS. Receivers silently truncate or split messages above a limit of their
 * own: rsyslog at 8 kB (`maxMessageSize`), syslog-ng at 64 kB (`log-msg-size()`).
 */
export function createSyslogSender(options: SyslogOptions): Sender {
  const transport = createTransport(options);
  return {
    async send(batch) {
      const frames: string[] = [];
      const refusals: Refusal[] = [];
      for (const [index, message] of batch.entries()) {
        const text = syslogMessage(message, options);
        const reason = refusalReason(text, options);
        if (reason === undefined) frames.push(frame(text, options));
        else refusals.push({ index, reason });
      }
      if (frames.length > 0) await transport.send(frames);
      return refusals;
    },
    close: () => transport.close(),
  };
}

function createTransport(options: SyslogOptions): SyslogTransport {
  const { transport, host, port } = options;
  const name = `syslog at ${transport}://${host}:${port}`;
  if (transport === 'udp') return keptTransport({ name, connect: () => openDatagrams(host, port) });
  const tls = transport === 'tls' ? options.tls : undefined;
  const connect = () => openStream({ host, port, tls, timeoutMs: options.timeout_seconds * 1000 });
  return options.confirm ? confirmedTransport({ name, connect }) : keptTransport({ name, connect });
}

function refusalReason(text: string, options: SyslogOptions): string | undefined {
  if (options.transport === 'udp') {
    const bytes = Buffer.byteLength(text);
    if (bytes <= options.max_datagram_bytes) return undefined;
    return `the message has ${bytes} bytes, more than max_datagram_bytes (${options.max_datagram_bytes})`;
  }
  return options.framing === 'lf' && text.includes('\n')
    ? 'the message contains a line feed, which would end it early (framing: lf)'
    : undefined;
}

function frame(text: string, options: SyslogOptions): string {
  if (options.transport === 'udp') return text;
  return options.framing === 'lf' ? `${text}\n` : `${Buffer.byteLength(text)} ${text}`;
}

/** What the header contains besides the event. */
interface SyslogHeader {
  readonly facility: string;
  readonly severity: string;
  readonly hostname: string;
}

/**
 * An RFC 5424 message with the event's own time. The RFC asks for a byte order mark before UTF-8 text, but rsyslog
 * 8.2302 leaves it in the text, so there is none.
 */
export function syslogMessage({ event, text }: Message, header: SyslogHeader): string {
  const priority = FACILITIES.indexOf(header.facility) * 8 + SEVERITIES.indexOf(header.severity);
  const data = [
    parameter('event_id', event.eventId),
    parameter('message_type', event.messageType),
    parameter('source', event.source),
  ].join(' ');
  const fields = `${event.occurredAt} ${header.hostname} xiq-sink - ${event.messageType} [${SD_ID} ${data}]`;
  return `<${priority}>1 ${fields} ${text}`;
}

function parameter(name: string, value: string): string {
  return `${name}="${value.replaceAll(/["\\\]]/g, String.raw`\$&`)}"`;
}
