import { summarizeEvent } from '../../events/event-summary.ts';
import { accessPointIn } from '../../events/event-words.ts';
import type { VNode } from 'preact';
import type { MessageType } from '../../events/domain.ts';
import { viewEvent, type StoredEvent } from '../../events/stored-event.ts';
import { accessPointAddress, clientAddress, eventAddress, userAddress } from '../addresses.ts';
import { html, type Content } from '../html/html.ts';
import { timeOf } from '../html/elements.ts';
import { tableOf, type Column } from '../browser/shared/table.js';

type Value = StoredEvent['columns'][string] | undefined;

/** The value of a typed column; users, clients and access points link to their pages. */
export function cellOf(column: string, value: Value): Content {
  if (value === null || value === undefined || value === '') return undefined;
  if (typeof value !== 'string') return value.join(', ');
  switch (column) {
    case 'user_name':
    case 'username':
      return html`<a href=${userAddress(value)}>${value}</a>`;
    case 'client_mac':
      return html`<a class="mono" href=${clientAddress(value)}>${value}</a>`;
    case 'ap_mac':
      return html`<a class="mono" href=${accessPointAddress(value)}>${value}</a>`;
    default:
      return isTime(column) ? timeOf(value) : value;
  }
}

const isTime = (column: string) => /_(?:time|date)$/.test(column) && column !== 'acct_session_time';

const NUMBERS: ReadonlySet<string> = new Set([
  'rssi',
  'x',
  'y',
  'lat',
  'lng',
  'acct_session_time',
  'acct_input_octets',
  'acct_output_octets',
]);

/** The most useful columns of each message type, in reading order. */
const LEADING_COLUMNS: Readonly<Record<MessageType, readonly string[]>> = {
  AUDIT_LOG_ALL: ['user_name', 'code', 'description', 'host_names'],
  LOCATION_AP_CENTRIC: ['client_mac', 'ap_mac', 'ssid', 'rssi', 'x', 'y', 'os'],
  LOCATION_CLIENT_CENTRIC: ['client_mac', 'ap_mac', 'ipv4', 'rssi', 'lat', 'lng'],
  GDPR_LOG_ALL: ['username', 'client_mac', 'category', 'status', 'description'],
  CREDENTIAL_LOG_ALL: ['username', 'vhm_id', 'record_id'],
  ACCOUNTING_LOG_ALL: [
    'username',
    'client_mac',
    'ap_mac',
    'ssid',
    'acct_session_time',
    'acct_input_octets',
    'acct_output_octets',
    'acct_terminate_cause',
  ],
  AUTHENTICATION_LOG_ALL: ['username', 'client_mac', 'ap_mac', 'ssid', 'auth_type', 'reply', 'reject_reason'],
  EMAIL_LOG_ALL: ['username', 'approver_email', 'status'],
  SMS_LOG_ALL: ['username', 'tel', 'status', 'provider_type'],
  OTHER: ['sent_type'],
  ALERT: ['severity_name', 'summary', 'alert_source_name', 'site_name', 'acknowledged'],
};

const TIME: Column<StoredEvent> = {
  heading: { time: 'Time' },
  cell: (event) => html`<a href=${eventAddress(event)}>${timeOf(event.occurredAt)}</a>`,
};

const GENERAL_COLUMNS: readonly Column<StoredEvent>[] = [
  { heading: 'Type', cell: ({ messageType }) => messageType },
  {
    heading: 'User',
    cell: ({ columns }) => cellOf('user_name', columns['user_name'] ?? columns['username']),
  },
  { heading: 'Client', kind: 'nowrap', cell: (event) => cellOf('client_mac', viewEvent(event).clientMac) },
  { heading: 'Access point', kind: 'nowrap', cell: accessPointCell },
  { heading: 'Summary', kind: 'wrap', cell: (event) => shorten(summarizeEvent(event)) },
];

/** The name and place of the access point at the time of an event, else its MAC address. */
export function accessPointCell(event: StoredEvent): Content {
  const { apMac } = viewEvent(event);
  const named = accessPointIn(event);
  if (apMac === null || named === undefined) return cellOf('ap_mac', apMac);
  return html`<a href=${accessPointAddress(apMac)} title=${apMac}>${named}</a>`;
}

/** Events as a table, each with a link to its page; for one message type its own columns, else those that all share. */
export function eventTable(events: readonly StoredEvent[], type: MessageType | undefined): VNode {
  const columns = type === undefined ? GENERAL_COLUMNS : LEADING_COLUMNS[type].map(typedColumn);
  return tableOf('Events, newest first', [TIME, ...columns, SOURCE], events);
}

const SOURCE: Column<StoredEvent> = { heading: 'Source', cell: ({ source }) => source };

const typedColumn = (column: string): Column<StoredEvent> => ({
  heading: column,
  cell: ({ columns }) => cellOf(column, shorten(columns[column])),
  ...kindOf(column),
});

function kindOf(column: string): Pick<Column<StoredEvent>, 'kind'> {
  if (NUMBERS.has(column)) return { kind: 'number' };
  return column === 'description' || column === 'summary' ? { kind: 'wrap' } : {};
}

/** Longer texts are shown in full on the page of the event. */
const LONGEST = 300;

function shorten<T>(value: T): T | string {
  return typeof value === 'string' && value.length > LONGEST ? `${value.slice(0, LONGEST)}…` : value;
}
