import type { Format } from '../sender.ts';
import { compilePlan, type Mapping } from './document.ts';
import { factsOf, PRODUCT, VENDOR } from './facts.ts';
import { addresses, dashedMac, integer, ip, list, seconds, text, time, type Reading } from './readings.ts';
import { memoizeByKind, type Outcome, type RecordKind } from '../../events/record-kind.ts';

/** Categorization fields of the Elastic Common Schema; a kind without a category has neither. `failed`: the types of a failure. */
export const ECS_CATEGORIES: Readonly<
  Record<RecordKind, { category: string[]; type: string[]; failed?: string[] } | undefined>
> = {
  login: { category: ['authentication', 'session'], type: ['start'] },
  logout: { category: ['authentication', 'session'], type: ['end'] },
  ppskCreated: { category: ['iam'], type: ['user', 'creation'] },
  ppskDeleted: { category: ['iam'], type: ['user', 'deletion'] },
  configuration: { category: ['configuration'], type: ['change'] },
  audit: undefined,
  authentication: {
    category: ['authentication', 'network'],
    type: ['start'],
    failed: ['start', 'denied'],
  },
  accountingStart: { category: ['session', 'network'], type: ['start'] },
  accountingInterim: { category: ['session', 'network'], type: ['info'] },
  accountingStop: { category: ['session', 'network'], type: ['end'] },
  credential: { category: ['iam'], type: ['user', 'info'] },
  email: { category: ['email'], type: ['info'] },
  sms: undefined,
  gdprDeletion: { category: ['iam'], type: ['user', 'deletion'] },
  gdprDownload: { category: ['iam'], type: ['user', 'info'] },
  gdpr: { category: ['iam'], type: ['user', 'info'] },
  location: { category: ['host'], type: ['info'] },
  alert: undefined,
  ruleAlert: undefined,
  other: undefined,
};

const observerMac: Reading = (fact) => {
  const address = dashedMac(fact);
  return address === undefined ? undefined : [address];
};

const dataset: Reading = (fact) => `xiq.${text(fact).toLowerCase()}`;

/** Input octets are those that the client sent (RFC 2866, 5.3), and the client is the source. */
export const ECS_MAPPINGS: readonly Mapping[] = [
  ['occurred_at', '@timestamp', time],
  ['description', 'message'],
  ['event_id', 'event.id'],
  ['code', 'event.code'],
  ['message_type', 'event.provider'],
  ['message_type', 'event.dataset', dataset],
  ['outcome', 'event.outcome'],
  ['severity', 'event.severity', integer],
  ['payload', 'event.original'],
  ['action', 'event.action'],
  ['received_at', 'event.created', time],
  ['received_at', 'event.ingested', time],
  ['reject_reason', 'event.reason'],
  ['acct_start_time', 'event.start', time],
  ['acct_stop_time', 'event.end', time],
  ['start_time', 'event.start', time],
  ['end_time', 'event.end', time],
  ['acct_session_time', 'event.duration', seconds(1_000_000_000)],
  ['actor_id', 'user.id'],
  ['actor_name', 'user.name'],
  ['user_name', 'user.name'],
  ['user_email', 'user.email'],
  ['user_domain', 'user.domain'],
  ['target_user', 'user.target.name'],
  ['group_name', 'user.group.name'],
  ['related_users', 'related.user', list],
  ['org_id', 'organization.id'],
  ['org_name', 'organization.name'],
  ['owner_id', 'cloud.account.id'],
  ['related_hosts', 'related.hosts', list],
  ['host_name', 'host.name'],
  ['device_ids', 'xiq.device_ids', list],
  ['device_id', 'host.id'],
  ['category', 'xiq.category'],
  ['config', 'xiq.config', text],
  ['client_ip', 'source.ip', ip],
  ['related_ips', 'related.ip', addresses],
  ['client_mac', 'source.mac', dashedMac],
  ['position', 'source.geo.location'],
  ['acct_input_octets', 'source.bytes', integer],
  ['acct_output_octets', 'destination.bytes', integer],
  ['ap_mac', 'observer.mac', observerMac],
  ['access_point', 'observer.type'],
  ['nas_identifier', 'observer.name'],
  ['nas_ip_address', 'observer.ip', addresses],
  ['device_serial_number', 'observer.serial_number'],
  ['ssid', 'network.name'],
  ['recipient', 'email.to.address', list],
  ['rule_name', 'rule.name'],
  ['rule_title', 'rule.description'],
];

/** `source.ip`, `related.ip` and `related.hosts` contain these. */
export const ECS_OMITTED = ['ipv4', 'ipv6', 'framed_ip_address', 'host_names'];

/** The members that do not depend on the facts; a kind leaves out those that are undefined. */
export const ecsConstants = (kind: RecordKind, outcome: Outcome): Readonly<Record<string, unknown>> => ({
  'ecs.version': '9.4.0',
  'observer.vendor': VENDOR,
  'observer.product': PRODUCT,
  'observer.type': 'network-management',
  'event.kind': kind === 'alert' || kind === 'ruleAlert' ? 'alert' : 'event',
  'event.category': ECS_CATEGORIES[kind]?.category,
  'event.type':
    (outcome === 'failure' ? ECS_CATEGORIES[kind]?.failed : undefined) ?? ECS_CATEGORIES[kind]?.type,
  'event.module': 'xiq',
  'email.direction': kind === 'email' ? 'outbound' : undefined,
});

const planOf = (kind: RecordKind, outcome: Outcome) =>
  compilePlan({
    constants: ecsConstants(kind, outcome),
    mappings: ECS_MAPPINGS,
    rest: 'xiq',
    omit: ECS_OMITTED,
  });

const plansOf = memoizeByKind((kind) => ({
  success: planOf(kind, 'success'),
  failure: planOf(kind, 'failure'),
  unknown: planOf(kind, 'unknown'),
}));

/**
 * Elastic Common Schema 9.4, for Elasticsearch and OpenSearch, nested. Facts without a field in the schema are under
 * `xiq`. The `data_stream` fields are left to the stream, which refuses an event that names another one.
 */
export const formatEcs: Format = (event) => {
  const facts = factsOf(event);
  return JSON.stringify(plansOf(facts.kind)[facts.outcome](facts));
};
