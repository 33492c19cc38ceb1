import type { StoredEvent } from '../store/stored-event.ts';

export type { StoredEvent };

/** Writes an event in a SIEM's language: one message, without what frames it on the wire. */
export type Format = (event: StoredEvent) => string;
