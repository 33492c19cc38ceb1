import { CONTROL, revealHidden, revealHiddenAs } from '../../lib/text/hidden-characters.ts';
import type { Format } from '../sender.ts';
import { factsOf, PRODUCT, VENDOR } from './facts.ts';
import { camelCase, compileExtension, cut, eventId, MAPPING_VERSION, type Entry } from './line-formats.ts';
import {
  digits,
  firstIpv6,
  ipv4,
  ipv6,
  longDigits,
  mac,
  milliseconds,
  shortDigits,
  text,
} from './readings.ts';
import { memoizeByKind, type RecordKind } from '../../events/record-kind.ts';

/**
 * The longest values and the types of numbers are those of the CEF dictionary: `in` and `out` are 32 bits, `cn` 64. Input
 * octets are those that the client sent (RFC 2866, 5.3): inbound, from source to destination.
 */
const COMMON: readonly Entry[] = [
  { fact: 'action', key: 'act', maxLength: 63 },
  { fact: 'message_type', key: 'cat' },
  { fact: 'occurred_at', key: 'rt', reading: milliseconds },
  { fact: 'event_id', key: 'externalId' },
  { fact: 'outcome', key: 'outcome' },
  { fact: 'actor_id', key: 'suid', maxLength: 1023 },
  { fact: 'actor_name', key: 'suser', maxLength: 1023 },
  { fact: 'user_name', key: 'suser', maxLength: 1023 },
  { fact: 'target_user', key: 'duser', maxLength: 1023 },
  { fact: 'recipient', key: 'duser', maxLength: 1023 },
  { fact: 'client_ip', key: 'src', reading: ipv4 },
  { fact: 'client_ips', key: 'c6a2', reading: firstIpv6, label: 'Source IPv6 Address' },
  { fact: 'client_mac', key: 'smac', reading: mac },
  { fact: 'host_name', key: 'dhost', maxLength: 1023 },
  { fact: 'ap_mac', key: 'dvcmac', reading: mac },
  { fact: 'nas_identifier', key: 'dvchost', maxLength: 100 },
  { fact: 'nas_ip_address', key: 'dvc', reading: ipv4 },
  { fact: 'nas_ip_address', key: 'c6a1', reading: ipv6, label: 'Device IPv6 Address' },
  { fact: 'device_serial_number', key: 'deviceExternalId', maxLength: 255 },
  { fact: 'acct_input_octets', key: 'in', reading: shortDigits },
  { fact: 'acct_input_octets', key: 'cn1', reading: longDigits, label: 'Bytes In' },
  { fact: 'acct_output_octets', key: 'out', reading: shortDigits },
  { fact: 'acct_output_octets', key: 'cn2', reading: longDigits, label: 'Bytes Out' },
  { fact: 'acct_start_time', key: 'start', reading: milliseconds },
  { fact: 'acct_stop_time', key: 'end', reading: milliseconds },
  { fact: 'start_time', key: 'start', reading: milliseconds },
  { fact: 'end_time', key: 'end', reading: milliseconds },
  { fact: 'reject_reason', key: 'reason', maxLength: 1023 },
  { fact: 'description', key: 'msg', maxLength: 1023 },
];

const custom = (key: string, fact: string, label: string): Entry => ({ fact, key, label, maxLength: 4000 });

const ACCESS_ENTRIES: readonly Entry[] = [
  custom('cs1', 'ssid', 'SSID'),
  custom('cs2', 'auth_type', 'Authentication Type'),
  custom('cs3', 'reply', 'Reply'),
  custom('cs4', 'acct_session_id', 'Session ID'),
  custom('cs5', 'org_id', 'Organization ID'),
  custom('cs6', 'owner_id', 'Owner ID'),
];

const RULE_ENTRIES: readonly Entry[] = [
  custom('cs1', 'rule_name', 'Rule'),
  custom('cs2', 'cause_ids', 'Event IDs'),
  { fact: 'alert_count', key: 'cnt', reading: digits },
];

const ACCOUNT_ENTRIES: readonly Entry[] = [
  custom('cs1', 'org_id', 'Organization ID'),
  custom('cs2', 'org_name', 'Organization'),
  custom('cs3', 'owner_id', 'Owner ID'),
  custom('cs4', 'vhm_name', 'Account'),
  custom('cs5', 'host_names', 'Host Names'),
  custom('cs6', 'device_ids', 'Device IDs'),
  { fact: 'category', key: 'cn1', reading: digits, label: 'Category' },
  { fact: 'device_count', key: 'cn2', reading: digits, label: 'Device Count' },
];

export const CEF_ENTRIES: readonly Entry[] = [
  ...COMMON,
  ...ACCESS_ENTRIES,
  ...ACCOUNT_ENTRIES,
  ...RULE_ENTRIES,
];

const ACCESS_KINDS: ReadonlySet<RecordKind> = new Set([
  'authentication',
  'accountingStart',
  'accountingInterim',
  'accountingStop',
  'location',
]);

/** Custom keys start with our name, as CEF requires: `ssid` is `xiqSsid`. */
const ownKey = (fact: string) => camelCase(`xiq_${fact}`);

const SPECIAL = /[\\=\p{Cc}\p{Cf}\u2028\u2029\p{Default_Ignorable_Code_Point}]/u;

function escapeValue(value: string): string {
  if (!SPECIAL.test(value)) return value.toWellFormed();
  const escaped = value
    .toWellFormed()
    .replaceAll(/[\\=]/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)
    .replaceAll(CONTROL, ' ');
  return revealHiddenAs(escaped, String.raw`\\u`);
}

function entriesOf(kind: RecordKind): readonly Entry[] {
  if (kind === 'ruleAlert') return RULE_ENTRIES;
  return ACCESS_KINDS.has(kind) ? ACCESS_ENTRIES : ACCOUNT_ENTRIES;
}

const writerOf = memoizeByKind((kind) =>
  compileExtension({
    entries: [...COMMON, ...entriesOf(kind)],
    omit: ['code', 'config', 'ipv4', 'ipv6', 'framed_ip_address'],
    keyOf: ownKey,
    escape: escapeValue,
    delimiter: ' ',
  }),
);

const headerField = (value: string, maxLength: number) =>
  revealHidden(cut(value, maxLength).toWellFormed().replaceAll(CONTROL, ' ')).replaceAll(
    /[\\|]/g,
    String.raw`\$&`,
  );

const HEADER = `CEF:0|${headerField(VENDOR, 63)}|${headerField(PRODUCT, 63)}|${headerField(MAPPING_VERSION, 31)}`;

/** ArcSight Common Event Format, version 0, without config and payload. */
export const formatCef: Format = (event) => {
  const facts = factsOf(event);
  const { name = '', severity = '' } = facts.derived;
  const id = headerField(eventId(facts), 1023);
  return `${HEADER}|${id}|${headerField(text(name), 512)}|${text(severity)}|${writerOf(facts.kind)(facts)}`;
};
