import { z } from 'zod';
import { MESSAGE_TYPES } from '../../domain.ts';
import { viewEvent } from '../../store/stored-event.ts';
import type { StoredEvent } from '../../store/stored-event.ts';
import { summaryOf } from '../events/event-cells.ts';

/** An event as the list of live events shows it: who, where and what, in one line. */
export const liveEventSchema = z
  .object({
    event_id: z.string(),
    message_type: z.enum(MESSAGE_TYPES),
    source: z.string(),
    occurred_at: z.string(),
    user: z.string().nullable(),
    client_mac: z.string().nullable(),
    ap_mac: z.string().nullable(),
    summary: z.string(),
  })
  .meta({ id: 'LiveEvent', description: 'A stored event in one line' });

/** An event in one line. */
export function toLiveEvent(event: StoredEvent): z.output<typeof liveEventSchema> {
  const { user, clientMac, apMac } = viewEvent(event);
  return {
    event_id: event.eventId,
    message_type: event.messageType,
    source: event.source,
    occurred_at: event.occurredAt,
    user,
    client_mac: clientMac,
    ap_mac: apMac,
    summary: summaryOf(event),
  };
}
