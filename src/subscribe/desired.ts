import { hash } from 'node:crypto';
import type { CloudType } from '../events/domain.ts';

const APPLICATION = 'xiq-sink';

/** A subscription as it should be, with its secret as clear text. */
export interface DesiredSubscription {
  readonly application: string;
  readonly url: string;
  readonly secret: string;
  readonly messageType: CloudType;
  readonly status: 'ENABLED';
}

export interface DesiredOptions {
  readonly source: string;
  /** Without a trailing slash. */
  readonly publicUrl: string;
  readonly secret: string;
  readonly messageTypes: readonly CloudType[];
}

/** Whether subscriptions of a message type are alert subscriptions, which have an API of their own. */
export const isAlert = (messageType: string): boolean => messageType === 'ALERT';

/** One subscription per message type, with the ingest URL of the source for that type. */
export function desiredSubscriptions(options: DesiredOptions): DesiredSubscription[] {
  const { source, publicUrl, secret, messageTypes } = options;
  return messageTypes.map((messageType) => ({
    // An alert subscription has no application.
    application: isAlert(messageType) ? '' : APPLICATION,
    url: `${publicUrl}/ingest/${source}/${messageType}`,
    secret,
    messageType,
    status: 'ENABLED',
  }));
}

/** The SHA-256 of a secret in hex, by which it is recognized without being stored. */
export const digestOf = (secret: string): string => hash('sha256', secret, 'hex');

/** Whether a subscription is ours. All others are never changed. */
export type Ownership = (subscription: { readonly application: string; readonly url: string }) => boolean;

interface OwnershipOptions {
  /** Without a trailing slash. */
  readonly publicUrl: string;
  /** The other sources of this installation, which may belong to the same cloud account. */
  readonly otherSources: readonly string[];
}

/** A subscription is ours if it has our application name or our URL, unless the URL names another source of ours. */
export function createOwnership({ publicUrl, otherSources }: OwnershipOptions): Ownership {
  return ({ application, url }) => {
    const named = /\/ingest\/([^/]+)\/[^/]*$/.exec(url)?.[1];
    if (named !== undefined && otherSources.includes(named)) return false;
    return application === APPLICATION || url.startsWith(`${publicUrl}/ingest/`);
  };
}
