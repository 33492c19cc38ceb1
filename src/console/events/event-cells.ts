import type { MessageType } from '../../domain.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { clientAddress, searchAddress, userAddress } from '../addresses.ts';
import type { Content } from '../html/html.ts';
import { html } from '../html/html.ts';
import { timeOf } from '../html/time.ts';

type Value = StoredEvent['columns'][string] | undefined;

/** The value of a typed column as a page shows it: who and what can be followed is a link. */
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
      return html`<a class="mono" href=${searchAddress({ ap: value, since: '24h' })}>${value}</a>`;
    default:
      return isTime(column) ? timeOf(value) : value;
  }
}

const isTime = (column: string) => /_(?:time|date)$/.test(column) && column !== 'acct_session_time';

/** Columns whose values are counted or measured. */
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

export const isNumber = (column: string) => NUMBERS.has(column);

/** The columns that tell most of a message type's events, in the order in which one reads them. */
export const LEADING_COLUMNS: Readonly<Record<MessageType, readonly string[]>> = {
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
};

/** What an event is about, in one line. */
export { summarizeEvent as summaryOf } from '../../event-summary.ts';
