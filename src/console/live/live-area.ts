import type { Request } from 'express';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { addressOf } from '../addresses.ts';
import { queryOf } from '../api/query.ts';
import { readAsked, streamRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { LiveList } from '../browser/live-list.js';
import { conditionShape } from '../events/conditions.ts';
import { fieldOf, typesField } from '../html/form.ts';
import { html } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { createEventHub } from './event-hub.ts';
import type { EventHub } from './event-hub.ts';
import { followEvents, parseStoredPosition } from './follow-events.ts';

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

const FIELDS = [
  ['source', 'Source'],
  ['user', 'User'],
  ['mac', 'MAC address', 'client or access point'],
  ['text', 'Text', 'any part of the record'],
] as const;

/** The page of live events: the conditions, and the list, which the browser fills. */
export function renderLive(request: Request, shape: z.ZodRawShape): Page {
  readAsked(z.object({ query: z.object(shape) }), request);
  const written = queryOf(request);
  const types = [written['type'] ?? []].flat();
  return {
    title: 'Live',
    modules: ['live.js'],
    content: html`
      <form method="get" action="/live" role="search" aria-label="Events to show">
        <div class="fields">
          ${FIELDS.map(([name, label, placeholder]) =>
            fieldOf({ name, label, placeholder, value: [written[name]].flat()[0] }),
          )}
        </div>
        <details open=${types.length > 0}>
          <summary>Types</summary>
          ${typesField(types)}
        </details>
        <div class="row">
          <button>Show these</button>
          <a class="button quiet" href="/live">Show all</a>
        </div>
      </form>
      <div id="live" data-stream=${addressOf('/api/v1/events/stream', written)}>
        <p>Connecting.</p>
        <noscript
          ><p class="note">This page needs JavaScript: xiq-sink events tail shows the same.</p></noscript
        >
        <${LiveList} events=${[]} />
      </div>
    `,
  };
}
