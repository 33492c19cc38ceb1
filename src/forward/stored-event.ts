import type { StoredEvent } from '../store/stored-event.ts';

export type { StoredEvent };

/** Writes an event in the format of a SIEM: one message, without the framing of the transport. */
export type Format = (event: StoredEvent) => string;
