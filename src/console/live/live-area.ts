import type { Request } from 'express';
import { z } from 'zod';
import type { Db } from '../../store/database.ts';
import { VIEW } from '../access/rule.ts';
import { addressOf } from '../addresses.ts';
import { only, queryOf } from '../api/query.ts';
import { parsedText } from '../api/text.ts';
import { readAsked, streamRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { conditionShape } from '../events/conditions.ts';
import { fieldOf, typesField } from '../html/form.ts';
import { html, type Page } from '../html/html.ts';
import { createEventHub, type EventHub } from './event-hub.ts';
import { followEvents, parseStoredPosition } from './follow-events.ts';

const { type, source, user, mac, text } = conditionShape;

/** The conditions of a stream as query parameters. */
const watchShape = { type, source, user, mac, text };

const position = parsedText(parseStoredPosition, 'must be the id of a message of an earlier stream')
  .optional()
  .describe('resume after this message id, like the header Last-Event-ID');

/** New events as they are stored. */
export function liveArea({ db, hub = createEventHub(db) }: { db: Db; hub?: EventHub }): Area {
  return {
    tag: 'events',
    navigation: [{ path: '/live', label: 'Live', group: 'Investigate', icon: 'M1 8h3l2-5 3 10 2-5h4' }],
    routes: [
      streamRoute({
        route: 'GET /events/stream',
        summary: 'stream new events',
        description:
          'Server-sent events: `listening` first, `stored` with a LiveEvent, `gap` if too many events were missed, ' +
          '`trouble` when the database stops answering (message) or answers again (null). With the header ' +
          'Last-Event-ID the stream resumes where an earlier one ended.',
        ...VIEW,
        asks: z.object({
          query: z.object({ ...watchShape, after: position }),
        }),
        mediaTypes: { 'text/event-stream': 'one message per event' },
        async work({ query: { type: messageTypes, after, ...others } }, { scope, signal }, response) {
          const last = parseStoredPosition(response.req.get('Last-Event-ID') ?? '');
          await followEvents(
            { db, hub, scope, filter: { ...others, messageTypes }, after: last ?? after, signal },
            response,
          );
        },
      }),
    ],
    pages: [{ path: '/live', ...VIEW, render: async (request) => renderLive(request) }],
  };
}

const FIELDS = [
  ['source', 'Source'],
  ['user', 'User'],
  ['mac', 'MAC address', 'client or access point'],
  ['text', 'Text', 'any part of the record'],
] as const;

/** The page of live events: the conditions, and the list, which the browser fills. */
function renderLive(request: Request): Page {
  readAsked(z.object({ query: z.object(watchShape) }), request);
  const written = only(queryOf(request), Object.keys(watchShape));
  const types = [written['type'] ?? []].flat();
  return {
    title: 'Live',
    modules: ['live.js'],
    content: html`
      <form method="get" action="/live" role="search" aria-label="Events to show">
        <div class="fields">
          ${FIELDS.map(([name, label, placeholder]) => fieldOf(written, name, label, placeholder))}
        </div>
        <details open=${types.length > 0}>
          <summary>Types</summary>
          ${typesField(types)}
        </details>
        <div class="row">
          <button>Apply</button>
          <a class="button quiet" href="/live">Clear</a>
        </div>
      </form>
      <div id="live" data-stream=${addressOf('/api/v1/events/stream', written)}>
        <p>Connecting…</p>
        <noscript
          ><p class="note">
            This page needs JavaScript. On the command line, use xiq-sink events tail.
          </p></noscript
        >
      </div>
    `,
  };
}
