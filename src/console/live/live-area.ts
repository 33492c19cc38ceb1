import type { Request } from 'express';
import { z } from 'zod';
import { exactTerms } from '../../events/search-query.ts';
import type { Db } from '../../store/server/database.ts';
import { VIEW } from '../access/access.ts';
import { addressOf } from '../addresses.ts';
import { only, queryOf, parsedText } from '../api/parameters.ts';
import { parseInput, streamRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { conditionShape } from '../events/conditions.ts';
import { fieldOf, typesField } from '../html/form.ts';
import { html, type Page } from '../html/html.ts';
import { createEventHub, type EventHub } from './event-hub.ts';
import { followEvents, parseStoredPosition } from './follow-events.ts';

const { type, source, user, mac, text } = conditionShape;

const watchShape = { type, source, user, mac, text };

const position = parsedText(parseStoredPosition, 'must be the id of a message of an earlier stream')
  .optional()
  .describe('resume after this message id, like the header Last-Event-ID');

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
        input: z.object({
          query: z.object({ ...watchShape, after: position }),
        }),
        mediaTypes: { 'text/event-stream': 'one message per event' },
        async work({ query: { after, ...fields } }, { scope, signal }, response) {
          const last = parseStoredPosition(response.req.get('Last-Event-ID') ?? '');
          await followEvents(
            { db, hub, scope, terms: exactTerms(fields), after: last ?? after, signal },
            response,
          );
        },
      }),
    ],
    pages: [
      {
        path: '/live',
        entry: { label: 'Live', group: 'Investigate', icon: 'live' },
        ...VIEW,
        render: async (request) => renderLive(request),
      },
    ],
  };
}

const FIELDS = [
  ['source', 'Source'],
  ['user', 'User'],
  ['mac', 'MAC address', 'client or access point'],
  ['text', 'Text', 'any part of the record'],
] as const;

function renderLive(request: Request): Page {
  parseInput(z.object({ query: z.object(watchShape) }), request);
  const written = only(queryOf(request), Object.keys(watchShape));
  const types = [written['type'] ?? []].flat();
  return {
    title: 'Live',
    modules: ['events/live.js'],
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
