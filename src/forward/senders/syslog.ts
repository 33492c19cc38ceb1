import os from 'node:os';
import { z } from 'zod';
import { severityOfEvent } from '../formats/facts.ts';
import type { Message, Refusal, Sender } from '../sender.ts';
import { openDatagrams, openStream } from './syslog-connection.ts';
import { hostOption, portOption, tlsOptions } from './connection-options.ts';
import { confirmedTransport, keptTransport, PATIENCE_MS, type SyslogTransport } from './syslog-connection.ts';

/** The facilities of RFC 5424, table 1, by the names that syslog daemons use; the index is the code. */
const FACILITIES = [
  'kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock',
  'local0 local1 local2 local3 local4 local5 local6 local7',
].flatMap((names) => names.split(' '));

/** The severities of RFC 5424, table 2; the index is the code. */
const SEVERITIES = ['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug'];

/** The severities of CEF, 0 to 10, in those of RFC 5424: low, medium, high and very high. */
const OF_CEF = 'info info info info warning warning warning err err crit crit'.split(' ');

const ENTERPRISE = 'must be an IANA private enterprise number, 1 to 4294967295';

const DATAGRAM = 'must be 480 to 65507 bytes';

/** The options of every destination that gets syslog messages. */
export const syslogCommon = {
  host: hostOption,
  facility: z.enum(FACILITIES, `must be one of ${FACILITIES.join(', ')}`).default('local0'),
  /** Of all messages; by default, each has that of its event. */
  severity: z.enum(SEVERITIES, `must be one of ${SEVERITIES.join(', ')}`).optional(),
  /**
   * In the id of the structured data, `xiq@32473`. The default is the number of examples (RFC 5612): this program has
   * none of its own, and ids without a number belong to IANA (RFC 5424, 6.3.2).
   */
  enterprise_number: z.int(ENTERPRISE).min(1, ENTERPRISE).max(4_294_967_295, ENTERPRISE).default(32_473),
  /** The form of the header. Some receivers accept only that of RFC 3164. */
  header: z.enum(['rfc5424', 'rfc3164'], 'must be rfc5424 or rfc3164').default('rfc5424'),
  hostname: z
    .string()
    .regex(/^[\u0021-\u007e]{1,255}$/, 'must be at most 255 printable ASCII characters without spaces')
    .default(() => os.hostname()),
};

export const syslogTimeout = z.number().min(0.1, 'must be at least 0.1 seconds').default(30);

const stream = {
  ...syslogCommon,
  /** Each message is sent with its length before it (RFC 6587, 5425), or with a line feed after it. */
  framing: z.enum(['octet-counting', 'lf'], 'must be octet-counting or lf').default('octet-counting'),
  /** Opens a connection for each batch, which the receiver closes after reading it; false keeps one connection. */
  confirm: z.boolean('must be true or false').default(true),
  timeout_seconds: syslogTimeout,
};

export const syslogOptions = z.discriminatedUnion(
  'transport',
  [
    z.strictObject({
      transport: z.literal('udp'),
      ...syslogCommon,
      port: portOption(514),
      /** Larger messages are refused. By default, rsyslog truncates messages at 8 kB. */
      max_datagram_bytes: z.int(DATAGRAM).min(480, DATAGRAM).max(65_507, DATAGRAM).default(8192),
    }),
    z.strictObject({ transport: z.literal('tcp'), ...stream, port: portOption(514) }),
    z.strictObject({
      transport: z.literal('tls'),
      ...stream,
      port: portOption(6514),
      tls: tlsOptions.prefault({}),
    }),
  ],
  'must have a transport: udp, tcp or tls',
);

export type SyslogOptions = z.output<typeof syslogOptions>;

/**
 * Sends syslog messages over UDP, TCP or TLS. Receivers silently truncate or split messages above a limit of their
 * own: rsyslog at 8 kB (`maxMessageSize`), syslog-ng at 64 kB (`log-msg-size()`). `patienceMs` is the wait for a receiver
 * to close a connection while it is not known that batches arrive.
 */
export function createSyslogSender(options: SyslogOptions, patienceMs = PATIENCE_MS): Sender {
  const transport = createTransport(options, patienceMs);
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

function createTransport(options: SyslogOptions, patienceMs: number): SyslogTransport {
  const { transport, host, port } = options;
  const name = `syslog at ${transport}://${host}:${port}`;
  if (transport === 'udp')
    return keptTransport({ name, patienceMs, connect: () => openDatagrams(host, port) });
  const tls = transport === 'tls' ? options.tls : undefined;
  const connect = () => openStream({ host, port, tls, timeoutMs: options.timeout_seconds * 1000 });
  const receiver = { name, connect, patienceMs };
  return options.confirm ? confirmedTransport(receiver) : keptTransport(receiver);
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

/** A syslog message with the event's own time. */
export function syslogMessage(
  message: Message,
  options: Pick<SyslogOptions, 'header' | 'facility' | 'severity' | 'enterprise_number' | 'hostname'>,
): string {
  const { header, facility, severity = OF_CEF[severityOfEvent(message.event)] ?? 'info', hostname } = options;
  const priority = FACILITIES.indexOf(facility) * 8 + SEVERITIES.indexOf(severity);
  return header === 'rfc3164'
    ? `<${priority}>${rfc3164Message(message, hostname)}`
    : `<${priority}>1 ${rfc5424Message(message, hostname, `xiq@${options.enterprise_number}`)}`;
}

/** RFC 5424 asks for a byte order mark before UTF-8 text, but rsyslog 8.2302 leaves it in the text, so there is none. */
function rfc5424Message({ event, text }: Message, hostname: string, dataId: string): string {
  const data = [
    parameter('event_id', event.eventId),
    parameter('message_type', event.messageType),
    parameter('source', event.source),
  ].join(' ');
  return `${event.occurredAt} ${hostname} xiq-sink - ${event.messageType} [${dataId} ${data}] ${text}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * The time of RFC 3164 has neither year nor zone, and receivers take it for UTC or their own zone: it is UTC here. CEF
 * and LEEF follow the host name directly, as their receivers expect it.
 */
function rfc3164Message({ event, text }: Message, hostname: string): string {
  const at = new Date(event.occurredAt);
  const day = String(at.getUTCDate()).padStart(2);
  const time = `${MONTHS[at.getUTCMonth()]} ${day} ${at.toISOString().slice(11, 19)}`;
  const tag = /^(?:CEF|LEEF):/.test(text) ? '' : 'xiq-sink: ';
  return `${time} ${hostname} ${tag}${text}`;
}

function parameter(name: string, value: string): string {
  return `${name}="${value.replaceAll(/["\\\]]/g, String.raw`\$&`)}"`;
}
