import type { Format } from '../sender.ts';
import { factsOf, PRODUCT, VENDOR } from './facts.ts';
import { camelCase, compileExtension, eventClass, MAPPING_VERSION, type Entry } from './line-formats.ts';
import { digits, firstIpv6, ipv4, ipv6, mac, milliseconds, text } from './readings.ts';
import { KINDS } from './record-kind.ts';

/** Input octets are those that the client sent (RFC 2866, 5.3): inbound, from source to destination. */
export const CEF_ENTRIES: readonly Entry[] = [
  { fact: 'occurred_at', key: 'rt', reading: milliseconds },
  { fact: 'event_id', key: 'externalId' },
  { fact: 'outcome', key: 'outcome' },
  { fact: 'user_id', key: 'suid' },
  { fact: 'user_name', key: 'suser' },
  { fact: 'target_user', key: 'duser' },
  { fact: 'client_ip', key: 'src', reading: ipv4 },
  { fact: 'related_ips', key: 'c6a2', reading: firstIpv6, label: 'Source IPv6 Address' },
  { fact: 'client_mac', key: 'smac', reading: mac },
  { fact: 'host_name', key: 'dhost' },
  { fact: 'ap_mac', key: 'dvcmac', reading: mac },
  { fact: 'nas_identifier', key: 'dvchost' },
  { fact: 'nas_ip_address', key: 'dvc', reading: ipv4 },
  { fact: 'nas_ip_address', key: 'c6a1', reading: ipv6, label: 'Device IPv6 Address' },
  { fact: 'device_serial_number', key: 'deviceExternalId' },
  { fact: 'acct_input_octets', key: 'in', reading: digits },
  { fact: 'acct_output_octets', key: 'out', reading: digits },
  { fact: 'acct_start_time', key: 'start', reading: milliseconds },
  { fact: 'acct_stop_time', key: 'end', reading: milliseconds },
  { fact: 'start_time', key: 'start', reading: milliseconds },
  { fact: 'end_time', key: 'end', reading: milliseconds },
  { fact: 'reject_reason', key: 'reason' },
  { fact: 'org_id', key: 'cs1', label: 'Organization ID' },
  { fact: 'org_name', key: 'cs2', label: 'Organization' },
  { fact: 'owner_id', key: 'cs3', label: 'Owner ID' },
  { fact: 'vhm_name', key: 'cs4', label: 'Account' },
  { fact: 'host_names', key: 'cs5', label: 'Host Names' },
  { fact: 'device_ids', key: 'cs6', label: 'Device IDs' },
  { fact: 'category', key: 'cn1', reading: digits, label: 'Category' },
  { fact: 'device_count', key: 'cn2', reading: digits, label: 'Device Count' },
  { fact: 'description', key: 'msg' },
];

/** Custom keys start with our name, as CEF requires: `ssid` is `xiqSsid`. */
const ownKey = (fact: string) => camelCase(`xiq_${fact}`);

/** Characters that end a line for some receivers or control a terminal. Line breaks are escaped first. */
const CONTROL = /[\p{Cc}\u2028\u2029]/gu;
const SPECIAL = /[\\=\p{Cc}\u2028\u2029]/u;

function escapeValue(value: string): string {
  if (!SPECIAL.test(value)) return value.toWellFormed();
  return value
    .toWellFormed()
    .replaceAll(/[\\=]/g, String.raw`\$&`)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\r', String.raw`\r`)
    .replaceAll(CONTROL, ' ');
}

const writeExtension = compileExtension({
  entries: CEF_ENTRIES,
  omit: ['code', 'config', 'ipv4', 'ipv6', 'framed_ip_address'],
  keyOf: ownKey,
  escape: escapeValue,
  delimiter: ' ',
});

/** A header field. The length limit applies to the text before it is escaped. */
const headerField = (value: string, maxLength: number) =>
  value
    .slice(0, maxLength)
    .toWellFormed()
    .replaceAll(CONTROL, ' ')
    .replaceAll(/[\\|]/g, String.raw`\$&`);

const HEADER = `CEF:0|${headerField(VENDOR, 63)}|${headerField(PRODUCT, 63)}|${headerField(MAPPING_VERSION, 31)}`;

/** ArcSight Common Event Format, version 0, without config and payload. */
export const formatCef: Format = (event) => {
  const facts = factsOf(event);
  const { name, action } = KINDS[facts.kind];
  const id = headerField(eventClass(facts), 1023);
  return `${HEADER}|${id}|${headerField(name, 512)}|${text(facts.derived['severity'] ?? '')}|act=${action} ${writeExtension(facts)}`;
};
