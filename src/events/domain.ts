/**
 * The words of xiq-sink. Each means one thing everywhere: in code, tables, log lines and pages.
 *
 * cloud         the network management cloud service: it sends webhooks and serves the REST API
 * source        one cloud account that sends to us: a name, its secrets, its API credentials
 * message type  one of those the cloud names, spelled exactly as it spells them, or `ALERT`, or `OTHER`
 * family        `audit`, `location`, `log`, `alerts` or `other`: five handlers, five tables
 * delivery      one inbound POST, whole; never used for anything outbound
 * record        one JSON object of a delivery (a body is one object or an array of them)
 * event         one stored row; a record gives one, a location record one per observation
 * receipt       what the sender gets back: delivery id, record count, how durable it is by then
 * spool         files on our own disk that hold deliveries while the queue cannot take them
 * quarantine    authenticated bytes or records that could not be read as events, kept as they came
 * subscription  what the cloud holds: application, url, secret, message type, status
 * destination   a SIEM or other system that events are forwarded to
 */

/** The message types of webhook subscriptions (specification, "Events"). */
export const WEBHOOK_TYPES = [
  'LOCATION_AP_CENTRIC',
  'LOCATION_CLIENT_CENTRIC',
  'AUDIT_LOG_ALL',
  'GDPR_LOG_ALL',
  'CREDENTIAL_LOG_ALL',
  'ACCOUNTING_LOG_ALL',
  'AUTHENTICATION_LOG_ALL',
  'EMAIL_LOG_ALL',
  'SMS_LOG_ALL',
] as const;

/**
 * The message types that a source can subscribe to. The name `ALERT` is ours: the cloud sends alerts for subscriptions
 * of another kind, at `/alert-subscriptions/webhooks` (published OpenAPI description), which name no message type.
 */
export const CLOUD_TYPES = [...WEBHOOK_TYPES, 'ALERT'] as const;

export type CloudType = (typeof CLOUD_TYPES)[number];

/** Stands for a message type that this program does not know. Its name as sent is the `sentType` of the delivery. */
const OTHER_MESSAGE_TYPE = 'OTHER';

export const MESSAGE_TYPES = [...CLOUD_TYPES, OTHER_MESSAGE_TYPE] as const;

export type MessageType = (typeof MESSAGE_TYPES)[number];

/** Stands for the message type where not even that could be read: such a delivery lies in quarantine whole. */
export const UNKNOWN_MESSAGE_TYPE = 'UNKNOWN';

export const FAMILIES = ['audit', 'location', 'log', 'alerts', 'other'] as const;

export type Family = (typeof FAMILIES)[number];

/** The family of each message type: which handler and which table its events go through. */
export const FAMILY_OF = {
  LOCATION_AP_CENTRIC: 'location',
  LOCATION_CLIENT_CENTRIC: 'location',
  AUDIT_LOG_ALL: 'audit',
  GDPR_LOG_ALL: 'log',
  CREDENTIAL_LOG_ALL: 'log',
  ACCOUNTING_LOG_ALL: 'log',
  AUTHENTICATION_LOG_ALL: 'log',
  EMAIL_LOG_ALL: 'log',
  SMS_LOG_ALL: 'log',
  ALERT: 'alerts',
  OTHER: 'other',
} as const satisfies Readonly<Record<MessageType, Family>>;

export const typesOfFamily = (family: Family): readonly MessageType[] =>
  MESSAGE_TYPES.filter((type) => FAMILY_OF[type] === family);

/** How an event reached us: pushed by the cloud, read back through its API, or made by this program. */
export const ORIGINS = ['webhook', 'backfill', 'xiq-sink'] as const;

export type Origin = (typeof ORIGINS)[number];

/** Events that this program creates have the type `OTHER`, these names, and their own origin. */
export const OWN_TYPES = {
  alert: 'XIQ_SINK_ALERT',
  subscription: 'XIQ_SINK_SUBSCRIPTION',
  checkpoint: 'XIQ_SINK_CHECKPOINT',
} as const;

/** The form in which a delivery carried its secret; the cloud's own is not documented. */
export type SecretForm = 'basic' | 'bearer' | 'raw' | 'header' | 'hmac';

/** Where a delivery is safe when its sender gets the receipt: in the queue, or in the spool on our own disk. */
export type Durability = 'queued' | 'spooled';

/** The name of a message type that the cloud may add, as it spells the others. */
export const SENT_TYPE_NAME = /^[A-Z][A-Z0-9_]{2,62}$/;

/** The message type of a delivery; of one that this program does not know, its name as sent. */
export interface SentType {
  readonly messageType: MessageType;
  readonly sentType?: string | undefined;
}

/** The message type with a name; undefined for one that this program does not know, unless it stores them too. */
export function readMessageType(name: string, storesOthers: boolean): SentType | undefined {
  const messageType = CLOUD_TYPES.find((type) => type === name);
  if (messageType !== undefined) return { messageType };
  return storesOthers && SENT_TYPE_NAME.test(name)
    ? { messageType: OTHER_MESSAGE_TYPE, sentType: name }
    : undefined;
}

/** Whether a text is the message type of stored events, spelled exactly. */
export const isMessageType = (text: string): text is MessageType =>
  MESSAGE_TYPES.some((type) => type === text);
