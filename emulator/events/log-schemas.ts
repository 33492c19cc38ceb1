import { z } from 'zod';
import { int64 as exactInt64, logRecordSchema } from '../../src/cloud/contract/logs.ts';
import type { LogKind } from '../../src/cloud/contract/logs.ts';

const text = z.string().nullish();
const int64 = exactInt64.nullish();

const auditLogSchema = logRecordSchema.extend({
  category: text,
  user_id: int64,
  code: z.int().nullish(),
  username: text,
  vhm_name: text,
  parameters: text,
  description: text,
  full_description_id: int64,
});

const authLogSchema = logRecordSchema.extend({
  auth_type: text,
  sn: text,
  vhm_id: text,
  username: text,
  reply: text,
  called_station_id: text,
  calling_station_id: text,
  auth_date: int64,
  ssid: text,
  identity: text,
  nas_port_type: text,
  reject_reason: text,
  nas_identifier: text,
  mgmt_mac_address: text,
});

const accountingLogSchema = logRecordSchema.extend({
  username: text,
  vhm_id: text,
  device_serial_number: text,
  acct_session_id: text,
  acct_multi_id: text,
  group_name: text,
  nas_ip_address: text,
  nas_port: text,
  nas_port_type: text,
  acct_start_time: int64,
  acct_stop_time: int64,
  acct_session_time: int64,
  acct_authentic: text,
  connect_info: text,
  acct_input_octets: int64,
  acct_output_octets: int64,
  called_station_id: text,
  calling_station_id: text,
  acct_terminate_cause: text,
  service_type: text,
  framed_ip_address: text,
  acct_start_delay: int64,
  acct_stop_delay: int64,
  ssid: text,
  identity: text,
  nas_identifier: text,
  mgmt_mac_address: text,
  attribute_num: int64,
  event_time: int64,
});

const credentialLogSchema = logRecordSchema.extend({ username: text, vhm_id: text });

const emailLogSchema = logRecordSchema.extend({
  username: text,
  user_id: int64,
  customer_id: text,
  approver_email: text,
  status: text,
});

const smsLogSchema = logRecordSchema.extend({
  user_id: int64,
  customer_id: text,
  tel: text,
  profile_name: text,
  status: z.enum(['SEND_OUT', 'COMPLETE', 'SUCCESS', 'FAIL']).nullish(),
  message_id: text,
  status_from_provider: text,
  provider_type: text,
});

/** The record of each log with the members that the vendor publishes; times and dates in epoch milliseconds. */
export const LOG_RECORD_SCHEMAS = {
  audit: auditLogSchema,
  auth: authLogSchema,
  accounting: accountingLogSchema,
  credential: credentialLogSchema,
  email: emailLogSchema,
  sms: smsLogSchema,
} as const satisfies Record<LogKind, z.ZodType>;
