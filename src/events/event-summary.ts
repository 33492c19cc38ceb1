import type { MessageType } from './domain.ts';
import type { StoredEvent } from './stored-event.ts';

/** The parts of a summary, in order: a typed column, and the words before and after its value. */
const SUMMARIES: Readonly<
  Record<MessageType, readonly (readonly [column: string, before?: string, after?: string])[]>
> = {
  AUDIT_LOG_ALL: [['description']],
  LOCATION_AP_CENTRIC: [['ssid'], ['rssi', '', ' dBm'], ['os']],
  LOCATION_CLIENT_CENTRIC: [['rssi', '', ' dBm'], ['ipv4']],
  GDPR_LOG_ALL: [['description'], ['category'], ['status']],
  CREDENTIAL_LOG_ALL: [['vhm_id', 'virtual host manager ']],
  ACCOUNTING_LOG_ALL: [['ssid'], ['acct_session_time', 'session of ', ' s'], ['acct_terminate_cause']],
  AUTHENTICATION_LOG_ALL: [['reply'], ['reject_reason'], ['ssid'], ['auth_type']],
  EMAIL_LOG_ALL: [['status'], ['approver_email', 'approved by ']],
  SMS_LOG_ALL: [['status'], ['tel', 'to '], ['provider_type']],
  OTHER: [['sent_type']],
  ALERT: [['severity_name'], ['summary'], ['alert_source_name']],
};

/**
 * Summarizes an event in one line: whether an authentication was accepted, the recipient of an SMS, the description of
 * an audit record. Console and commands show the same summary. Empty when the record has none of its members.
 */
export function summarizeEvent(event: Pick<StoredEvent, 'messageType' | 'columns'>): string {
  const { messageType, columns } = event;
  return SUMMARIES[messageType]
    .flatMap(([column, before = '', after = '']) => {
      const value = columns[column];
      return typeof value === 'string' && value !== '' ? [`${before}${value}${after}`] : [];
    })
    .join(' · ');
}
