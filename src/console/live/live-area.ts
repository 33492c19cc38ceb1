import type { Db } from '../../store/database.ts';
import { z } from 'zod';
import { streamRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { conditionShape } from '../events/conditions.ts';
import { createEventHub } from './event-hub.ts';
import type { EventHub } from './event-hub.ts';
import { followEvents, parseStoredPosition } from './follow-events.ts';
import { renderLive } from './live-page.ts';

const { type, source, user, mac, text } = conditionShape;

/** The conditions that events are watched by, as parameters of a query. */
const watchShape = { type, source, user, mac, text };

const position = z
  .string({ error: 'can be given once' })
  .transform((value, context) => {
    const parsed = parseStoredPosition(value);
    if (parsed !== undefined) return parsed;
    context.addIssue({ code: 'custom', message: 'takes the id of an event of an earlier stream' });
    return z.NEVER;
  })
  .optional()
  .meta({ description: 'goes on behind this id, as the header Last-Event-ID does' });

/** Events as they are stored. */
export function liveArea({ db, hub = createEventHub(db) }: { db: Db; hub?: EventHub }): Area {
  return {
    navigation: [{ path: '/live', label: 'Live' }],
    routes: [
      streamRoute({
        method: 'get',
        path: '/events/stream',
        tag: 'events',
        summary: 'events as they are stored, until you leave',
        description:
          'Server-sent events: `listening` first, `stored` with a LiveEvent, `gap` when too many came while nobody ' +
          'read, `trouble` when the database stops answering (message) or answers again (null). With the header ' +
          'Last-Event-ID it goes on where a stream ended.',
        asks: z.object({
          query: z.object({ ...watchShape, after: position }),
        }),
        mediaTypes: { 'text/event-stream': 'one message for each event' },
        async work({ query: { type: messageTypes, after, ...others } }, { signal }, response) {
          const last = parseStoredPosition(response.req.get('Last-Event-ID') ?? '');
          await followEvents(
            { db, hub, filter: { ...others, messageTypes }, after: last ?? after, signal },
            response,
          );
        },
      }),
    ],
    pages: [{ path: '/live', render: async (request) => renderLive(request, watchShape) }],
  };
}
