import { z } from 'zod';
import type { Db } from '../../store/server/database.ts';
import { VIEW } from '../access/access.ts';
import { parsedText, text } from '../api/parameters.ts';
import { streamRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { conditionShape, termsOfConditions } from '../events/conditions.ts';
import { rowDrawer } from '../events/event-list.ts';
import { createEventHub, type EventHub } from './event-hub.ts';
import { followEvents, parseStoredPosition } from './follow-events.ts';

const { since: _since, until: _until, ...watchShape } = conditionShape;

const position = parsedText(parseStoredPosition, 'must be the id of a message from an earlier stream')
  .optional()
  .describe('resume after this message id, like the header Last-Event-ID');

const list = text
  .startsWith('/events')
  .optional()
  .describe('the address of a search in the console: the latest events then include their list row as HTML');

export function liveArea({ db, hub = createEventHub(db) }: { db: Db; hub?: EventHub }): Area {
  return {
    tag: 'events',
    routes: [
      streamRoute({
        route: 'GET /events/stream',
        summary: 'stream new events',
        description:
          'Server-sent events: `listening` first, `stored` with a LiveEvent, `gap` if too many events were missed, ' +
          '`trouble` when the database stops answering (message) or answers again (null). With the header ' +
          'Last-Event-ID the stream resumes where an earlier one ended.',
        ...VIEW,
        input: {
          query: z.object({ ...watchShape, after: position, list }),
        },
        mediaTypes: { 'text/event-stream': 'one message per event' },
        async work({ query: { after, list: address, ...conditions } }, { scope, signal }, response) {
          const last = parseStoredPosition(response.req.get('Last-Event-ID') ?? '');
          const draw = address === undefined ? undefined : rowDrawer(db, scope, response.req, address);
          await followEvents(
            { db, hub, scope, terms: termsOfConditions(conditions), after: last ?? after, draw, signal },
            response,
          );
        },
      }),
    ],
    pages: [],
  };
}
