import { z } from 'zod';
import { HttpError } from '../../errors.ts';
import { parseTime } from '../../parse-time.ts';
import { parseSearch } from '../../search-query.ts';
import type { Db } from '../../store/database.ts';
import { recordAction } from '../../store/operator-log.ts';
import {
  deleteSavedSearch,
  listSavedSearches,
  saveSearch,
  type SavedSearch,
} from '../../store/saved-searches.ts';
import type { Scope } from '../../store/scope.ts';
import { isoTime } from '../api/moment.ts';
import { jsonRoute, NOTHING, type ApiRoute } from '../api/route.ts';
import { VIEW } from '../access/rule.ts';

const MOST_CHARACTERS = 500;

const line = z
  .string()
  .max(MOST_CHARACTERS)
  .superRefine((text, context) => {
    const { problem } = parseSearch(text);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  })
  .describe('search line (docs/searching.md)');

/** Stays as it is written, so that a relative time stays relative. */
const written = z
  .string()
  .max(40)
  .refine((text) => parseTime(text, new Date()) !== undefined, 'must be a time, or how long ago')
  .describe('ISO 8601 in UTC, or how long ago: 24h')
  .optional();

const savedSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    line: z.string(),
    since: z.string().nullable(),
    until: z.string().nullable(),
    saved_by: z.string(),
    saved_at: isoTime,
  })
  .meta({ id: 'SavedSearch', description: 'A search that a person saved by name' });

/** Listing, saving and deleting searches. Those of people who could see more are not there. */
export function savedSearchRoutes(db: Db): readonly ApiRoute[] {
  return [listRoute(db), saveRoute(db), deleteRoute(db)];
}

const listRoute = (db: Db) =>
  jsonRoute({
    method: 'get',
    path: '/saved-searches',
    tag: 'events',
    summary: 'list the saved searches',
    ...VIEW,
    asks: NOTHING,
    answer: z.object({ items: z.array(savedSchema), next_cursor: z.null() }),
    async work(_asked, { scope }) {
      const searches = await listSavedSearches(db, scope);
      const items = searches.map(({ savedBy, savedAt, ...search }) => ({
        ...search,
        saved_by: savedBy,
        saved_at: savedAt,
      }));
      return { items, next_cursor: null };
    },
  });

const saveRoute = (db: Db) =>
  jsonRoute({
    method: 'post',
    path: '/saved-searches',
    tag: 'events',
    summary: 'save a search; one that you saved under this name is replaced',
    ...VIEW,
    asks: z.object({
      body: z.strictObject({
        name: z.string().trim().min(1).max(100).describe('upper and lower case do not matter'),
        line: line.default(''),
        since: written,
        until: written,
      }),
    }),
    answer: z.object({ name: z.string() }),
    async work({ body }, { operator, scope }) {
      const { name, since = null, until = null } = body;
      const search = { name, line: body.line, since, until };
      const action = { operator, action: 'search.save', subject: name, details: search } as const;
      await recordAction(db, action, () => saveNew(db, scope, search, operator.name));
      return { name };
    },
  });

async function saveNew(db: Db, scope: Scope, search: SavedSearch, savedBy: string): Promise<void> {
  switch (await saveSearch(db, scope, search, savedBy)) {
    case 'saved':
      return;
    case 'name is taken':
      throw new HttpError(
        409,
        'NAME_TAKEN',
        `Another user saved a search “${search.name}”: choose another name.`,
      );
    case 'too many':
      throw new HttpError(409, 'TOO_MANY_SEARCHES', '500 searches are saved: delete one first.');
  }
}

const deleteRoute = (db: Db) =>
  jsonRoute({
    method: 'post',
    path: '/saved-searches/{id}/delete',
    tag: 'events',
    summary: 'delete a search that you saved',
    ...VIEW,
    asks: z.object({ path: z.object({ id: z.string().regex(/^\d{1,18}$/) }) }),
    answer: z.object({ name: z.string() }),
    async work({ path: { id } }, { operator, scope }) {
      const action = { operator, action: 'search.delete', subject: id } as const;
      const deleted = await recordAction(db, action, () => deleteSavedSearch(db, scope, id, operator.name));
      if (deleted === undefined) {
        throw new HttpError(404, 'NOT_FOUND', `you have saved no search with the id ${id}`);
      }
      return { name: deleted.name };
    },
  });
