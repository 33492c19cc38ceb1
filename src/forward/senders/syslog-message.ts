import type { Message } from '../sender.ts';

/** The facilities of RFC 5424, table 1, by the names that syslog daemons give them; the place is the code. */
export const FACILITIES = [
  'kern user mail daemon auth syslog lpr news uucp cron authpriv ftp ntp audit alert clock',
  'local0 local1 local2 local3 local4 local5 local6 local7',
].flatMap((names) => names.split(' '));

/** The severities of RFC 5424, table 2; the place is the code. */
export const SEVERITIES = ['emerg', 'alert', 'crit', 'err', 'warning', 'notice', 'info', 'debug'];

/** The structured data's id; 32473 is the enterprise number that RFC 5612 sets apart for those without one. */
const SD_ID = 'xiq@32473';

/** What the header says beside the event. */
export interface SyslogHeader {
  readonly facility: string;
  readonly severity: string;
  readonly hostname: string;
}

/**
 * An RFC 5424 message, its time the event's own. No byte order mark goes before the text, though the RFC asks for it
 * where a text is UTF-8: rsyslog 8.2302 leaves it standing in the text.
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
