import { z } from 'zod';

/** The kinds of log that `GET /logs/{kind}` returns. There is none for GDPR and location events. */
export const LOG_KINDS = ['audit', 'auth', 'accounting', 'credential', 'email', 'sms'] as const;

export type LogKind = (typeof LOG_KINDS)[number];

/** A log, or the alerts (`GET /alerts`), which are the log of alert webhooks. */
export type HistoryKind = LogKind | 'alerts';

/** The largest page `limit` of every log. The SDK allows 500 for the audit log; the published description refuses that. */
export const LOG_PAGE_LIMIT = 100;

/** The longest span between `startTime` and `endTime` of one audit query, in milliseconds. */
export const AUDIT_WINDOW_MS = 30 * 24 * 60 * 60 * 1000;

/** An int64: a string of digits if a JavaScript number would round it. */
export const int64 = z.union([z.int(), z.string()]);

/**
 * The members of every log record, `timestamp` in epoch milliseconds. Records are passed on as sent, so the client
 * validates nothing else: one odd member must not cost a whole page.
 */
export const logRecordSchema = z.looseObject({
  id: int64,
  org_id: int64.nullish(),
  timestamp: z.int().nullish(),
});

/** An alert, whose time is a date-time. */
export const alertSchema = logRecordSchema.extend({ timestamp: z.union([z.int(), z.string()]).nullish() });

export type LogRecord = z.output<typeof alertSchema>;

/** The whole description of an audit record (published description, `XiqAuditLogFullDescriptions`). */
export const fullDescriptionSchema = z.looseObject({ description: z.string() });

/** The documented members of the records of each log (published description 25.9.0-36; the specification shows none). */
export const LOG_MEMBERS: Readonly<Record<LogKind, readonly string[]>> = {
  audit: words(
    'id category user_id code username vhm_name parameters org_id timestamp description full_description_id',
  ),
  auth: words(
    `id auth_type sn vhm_id username reply called_station_id calling_station_id auth_date ssid identity nas_port_type
     reject_reason nas_identifier mgmt_mac_address org_id timestamp`,
  ),
  accounting: words(
    `id username org_id timestamp vhm_id device_serial_number acct_session_id acct_multi_id group_name nas_ip_address
     nas_port nas_port_type acct_start_time acct_stop_time acct_session_time acct_authentic connect_info
     acct_input_octets acct_output_octets called_station_id calling_station_id acct_terminate_cause service_type
     framed_ip_address acct_start_delay acct_stop_delay ssid identity nas_identifier mgmt_mac_address attribute_num
     event_time`,
  ),
  credential: words('id username vhm_id org_id timestamp'),
  email: words('id username org_id timestamp user_id customer_id approver_email status'),
  sms: words(
    'id user_id customer_id tel profile_name status message_id status_from_provider provider_type org_id timestamp',
  ),
};

/** The documented members of an alert (published description, `XiqAlert`). */
export const ALERT_MEMBERS = words(
  `id owner_id timestamp org_id message_metadata_id message_metadata_type summary severity_id severity_name category_id
   category_name source acknowledged site_id site_name alert_policy_id alert_policy_name alert_rule_id
   acknowledged_username tags`,
);

function words(text: string): readonly string[] {
  return text.split(/\s+/);
}
