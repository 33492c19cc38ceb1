import type { Request } from 'express';
import type { Db } from '../../store/database.ts';
import type { Scope } from '../../store/scope.ts';
import { readAsked } from '../api/route.ts';
import { EventDetail } from '../browser/event-detail.js';
import { html } from '../html/html.ts';
import type { Page } from '../html/layout.ts';
import { describeEvent, toDetailAnswer, type IsFiltered } from './describe-event.ts';
import { oneEvent } from './event-schemas.ts';

/** The page of one event. */
export async function renderEvent(
  db: Db,
  scope: Scope,
  request: Request,
  isFiltered: IsFiltered,
): Promise<Page> {
  const { path, query } = readAsked(oneEvent, request);
  const detail = await describeEvent(db, scope, path.event_id, query.at, isFiltered);
  return {
    title: `Event of ${detail.event.occurredAt.slice(0, 19).replace('T', ' ')}`,
    kind: 'dense',
    content: html`<${EventDetail} ...${toDetailAnswer(detail)} search="/events" isPage />`,
  };
}
