import type { MessageType } from './domain.ts';
import { outcomeOf, recordKind, titleOf } from './record-kind.ts';
import { summarizeEvent } from './event-summary.ts';
import { viewEvent, type StoredEvent } from './stored-event.ts';

export const TYPE_TITLES: Readonly<Record<MessageType, string>> = {
  LOCATION_AP_CENTRIC: 'Client locations (per AP)',
  LOCATION_CLIENT_CENTRIC: 'Client locations (per client)',
  AUDIT_LOG_ALL: 'Audit',
  GDPR_LOG_ALL: 'Personal data',
  CREDENTIAL_LOG_ALL: 'Credentials',
  ACCOUNTING_LOG_ALL: 'Sessions',
  AUTHENTICATION_LOG_ALL: 'Network logins',
  EMAIL_LOG_ALL: 'E-mail',
  SMS_LOG_ALL: 'SMS',
  ALERT: 'Alerts',
  OTHER: 'Other',
};

const TITLE_OF_TYPE: ReadonlyMap<string, string> = new Map(Object.entries(TYPE_TITLES));

/** A message type in words; a name that is no message type stays as it is. */
export const titleOfType = (type: string): string => TITLE_OF_TYPE.get(type) ?? type;

/** What happened, in a few words: `Login`, `Network login rejected`. */
export function titleOfEvent(event: StoredEvent): string {
  const kind = recordKind(event);
  return titleOf(kind, outcomeOf(kind, event), event);
}

/**
 * What happened, in a sentence without its full stop: `ann was rejected on Guests: wrong password`. Parts that the record lacks are
 * left out.
 */
export function sentenceOfEvent(event: StoredEvent): string {
  const { user, clientMac, description } = viewEvent(event);
  const subject = user ?? clientMac ?? 'A user';
  const column = (name: string) => {
    const value = event.columns[name];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const on = column('ssid') === undefined ? '' : ` on ${column('ssid')}`;
  const accessPoint = accessPointIn(event);
  const at = accessPoint === undefined ? '' : ` at ${accessPoint}`;
  const kind = recordKind(event);
  const told = description === null ? '' : `: ${description}`;
  switch (kind) {
    case 'login':
      return `${subject} logged in`;
    case 'logout':
      return `${subject} logged out`;
    case 'ppskCreated':
      return `${subject} created a private key${told}`;
    case 'ppskDeleted':
      return `${subject} deleted a private key${told}`;
    case 'configuration':
      return `${subject} changed the configuration${told}`;
    case 'audit':
      return description ?? `${subject} caused an audit record`;
    case 'authentication': {
      const outcome = outcomeOf(kind, event);
      if (outcome === 'success') return `${subject} was accepted${on}${at}`;
      if (outcome === 'unknown') return `${subject} logged in to the network${on}${at}`;
      return `${subject} was rejected${on}${at}${column('reject_reason') === undefined ? '' : `: ${column('reject_reason')}`}`;
    }
    case 'accountingStart':
      return `${subject} started a session${on}${at}`;
    case 'accountingInterim':
      return `${subject} is in a session${on}${at}`;
    case 'accountingStop':
      return `${subject} ended a session${on}${at}${column('acct_terminate_cause') === undefined ? '' : `: ${column('acct_terminate_cause')}`}`;
    case 'location':
      return `${clientMac ?? 'A client'} was seen${on}${seenBy(event)}`;
    case 'email':
      return `${titleOfEvent(event)} for ${subject}`;
    case 'sms':
      return `${titleOfEvent(event)} to ${column('tel') ?? subject}`;
    case 'credential':
      return `${titleOfEvent(event)} for ${subject}${told}`;
    case 'gdpr':
    case 'gdprDeletion':
    case 'gdprDownload': {
      // The record names the administrator who asked for it.
      const by = user === null ? '' : ` by ${user}`;
      return `${titleOfEvent(event)}${clientMac === null ? '' : ` for client ${clientMac}`}${by}${told}`;
    }
    case 'alert':
    case 'ruleAlert':
    case 'other':
      return summarizeEvent(event) || titleOfEvent(event);
  }
}

/**
 * The access point of an event and its place, as the inventory named them at that time: `AP-Lobby, Building 2, Floor 1`.
 * Undefined if it had no name for the access point.
 */
export function accessPointIn({ names }: StoredEvent): string | undefined {
  if (names === undefined || names.accessPoint === null) return undefined;
  return names.place === null ? names.accessPoint : `${names.accessPoint}, ${names.place}`;
}

function seenBy(event: StoredEvent): string {
  const named = accessPointIn(event);
  if (named !== undefined) return ` by ${named}`;
  const { apMac } = viewEvent(event);
  const place = event.names?.place ?? null;
  return `${apMac === null ? '' : ` by access point ${apMac}`}${place === null ? '' : ` in ${place}`}`;
}
