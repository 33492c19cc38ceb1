import { CONTROL, revealHidden } from '../../lib/text/hidden-characters.ts';
import type { Format } from '../sender.ts';
import { factsOf, PRODUCT, VENDOR } from './facts.ts';
import { camelCase, compileExtension, cut, eventId, MAPPING_VERSION, type Entry } from './line-formats.ts';
import { digits, ip, mac, milliseconds } from './readings.ts';

/** The longest event id, and the longest value of some attributes (LEEF 2, predefined event attributes). */
const MAX_LENGTH = 255;

/** The attributes that QRadar knows, and shorter names for some of ours. Other facts keep their name in camelCase. */
export const LEEF_ENTRIES: readonly Entry[] = [
  { fact: 'occurred_at', key: 'devTime', reading: milliseconds },
  { fact: 'message_type', key: 'cat' },
  { fact: 'severity', key: 'sev', reading: severity },
  { fact: 'outcome', key: 'outcome' },
  { fact: 'description', key: 'msg' },
  { fact: 'actor_id', key: 'userId' },
  { fact: 'actor_name', key: 'usrName', maxLength: MAX_LENGTH },
  { fact: 'user_name', key: 'usrName', maxLength: MAX_LENGTH },
  { fact: 'target_user', key: 'targetUser' },
  { fact: 'host_names', key: 'hosts' },
  { fact: 'client_ip', key: 'src', reading: ip },
  { fact: 'identity_ip', key: 'identSrc', reading: ip },
  { fact: 'host_name', key: 'identHostName', maxLength: MAX_LENGTH },
  { fact: 'client_mac', key: 'srcMAC', reading: mac },
  { fact: 'ap_mac', key: 'apMAC', reading: mac },
  { fact: 'acct_input_octets', key: 'srcBytes', reading: digits },
  { fact: 'acct_output_octets', key: 'dstBytes', reading: digits },
];

const DELIMITER = '^';

/**
 * LEEF has no escapes: the delimiter is removed, characters that could end the line become spaces, and hidden characters
 * become text such as `\u202e`.
 */
const escapeValue = (value: string): string =>
  revealHidden(value.toWellFormed().replaceAll(DELIMITER, '').replaceAll(CONTROL, ' '));

const headerField = (value: string) => escapeValue(value).replaceAll('|', ' ');

const writeExtension = compileExtension({
  entries: LEEF_ENTRIES,
  omit: ['code', 'config', 'ipv4', 'framed_ip_address'],
  keyOf: camelCase,
  escape: escapeValue,
  delimiter: DELIMITER,
});

const HEADER = `LEEF:2.0|${VENDOR}|${PRODUCT}|${MAPPING_VERSION}`;

/** LEEF counts severity from 1. */
function severity(fact: string | readonly string[]): number {
  return Math.max(1, Number(fact));
}

/** IBM's Log Event Extended Format 2.0, without config and payload. */
export const formatLeef: Format = (event) => {
  const facts = factsOf(event);
  return `${HEADER}|${headerField(cut(eventId(facts), MAX_LENGTH))}|${DELIMITER}|${writeExtension(facts)}`;
};
