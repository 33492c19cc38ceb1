import { hash } from 'node:crypto';
import type { MessageType } from '../domain.ts';

/** The name our subscriptions carry in the cloud. */
export const APPLICATION = 'xiq-sink';

/** A subscription as it should be, its secret in clear. */
export interface DesiredSubscription {
  readonly application: string;
  readonly url: string;
  readonly secret: string;
  readonly messageType: MessageType;
  readonly status: 'ENABLED';
}

/** What the subscriptions of a source are to be made of. */
export interface DesiredOptions {
  readonly source: string;
  /** Without a trailing slash. */
  readonly publicUrl: string;
  /** The secret that deliveries are to carry. */
  readonly secret: string;
  readonly messageTypes: readonly MessageType[];
}

/** One subscription for each message type, to the address that the source's deliveries of that type come in at. */
export function desiredSubscriptions(options: DesiredOptions): DesiredSubscription[] {
  const { source, publicUrl, secret, messageTypes } = options;
  return messageTypes.map((messageType) => ({
    application: APPLICATION,
    url: `${publicUrl}/ingest/${source}/${messageType}`,
    secret,
    messageType,
    status: 'ENABLED',
  }));
}

/** What a secret is recognised by without being kept: its SHA-256 in hexadecimal digits. */
export function digestOf(secret: string): string {
  return hash('sha256', secret, 'hex');
}
