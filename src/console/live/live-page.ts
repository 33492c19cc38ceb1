import type { Request } from 'express';
import { z } from 'zod';
import { addressOf } from '../addresses.ts';
import { queryOf } from '../api/query.ts';
import { readAsked } from '../api/route.ts';
import { LiveList } from '../browser/live-list.js';
import { fieldOf } from '../html/field.ts';
import { html } from '../html/html.ts';
import { typesField } from '../html/types-field.ts';
import type { Page } from '../html/layout.ts';

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
