import { z } from 'zod';
import { HttpError } from '../../lib/errors.ts';
import { parseTime } from '../../lib/text/parse-time.ts';
import { parseSearch } from '../../events/search-query.ts';
import type { Db } from '../../store/server/database.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import {
  deleteSavedSearch,
  listSavedSearches,
  saveSearch,
  setSearchAlerts,
  type SearchEditor,
} from '../../store/alerts/saved-searches.ts';
import { whole, wholeSchema } from '../api/paging.ts';
import { nameAnswer, toAnswer, jsonRoute, type ApiRoute, type RouteContext } from '../api/route.ts';
import { isoTime, text } from '../api/parameters.ts';
import { hasAccess, VIEW } from '../access/access.ts';

const MOST_CHARACTERS = 500;

export const LONGEST_NAME = 100;

export const searchLine = text
  .max(MOST_CHARACTERS)
  .superRefine((text, context) => {
    const { problem } = parseSearch(text);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  })
  .describe('search line (docs/searching.md)');

/** Stays as it is written, so that a relative time stays relative. */
const written = text
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
    raises_alerts: z.boolean(),
  })
  .meta({ id: 'SavedSearch', description: 'A saved search' });

export type SavedSearch = z.output<typeof savedSchema>;

/** Listing, saving and deleting searches. Those of people who could see more are not there. */
export function savedSearchRoutes(db: Db): readonly ApiRoute[] {
  return [
    jsonRoute({
      route: 'GET /saved-searches',
      summary: 'list the saved searches',
      ...VIEW,
      answer: wholeSchema(savedSchema),
      work: async (_asked, { sources }) => whole((await listSavedSearches(db, sources)).map(toAnswer)),
    }),
    jsonRoute({
      route: 'POST /saved-searches',
      summary: 'save a search; one that you saved under this name is replaced',
      ...VIEW,
      ...saved,
      work: (values, context) => save(db, values, context, false),
    }),
    jsonRoute({
      route: 'POST /saved-searches/alert',
      summary: 'save a search and switch its alerts on',
      ...ALERTING,
      ...saved,
      work: (values, context) => save(db, values, context, true),
    }),
    jsonRoute({
      route: 'POST /saved-searches/{id}/delete',
      summary: 'delete a search that you saved; an administrator, any search',
      ...VIEW,
      input: { path: savedId },
      answer: nameAnswer,
      async work({ path: { id } }, context) {
        const { operator, scope } = context;
        const action = { operator, action: 'search.delete', subject: id } as const;
        const { name } = await recordAction(db, action, () =>
          deleteSavedSearch(db, scope, id, editorOf(context)),
        );
        return { name };
      },
    }),
    jsonRoute({
      route: 'POST /saved-searches/{id}/alerts',
      summary: 'switch the alerts of a saved search on or off',
      description:
        'While they are on, a rule named search-ID raises an alert when a newly stored event matches. Matches within ten minutes of the last one belong to the same alert, plus one alert for each day that it lasts.',
      ...ALERTING,
      input: { path: savedId, body: z.strictObject({ state: z.enum(['on', 'off']) }) },
      answer: nameAnswer,
      async work({ path: { id }, body: { state } }, { operator, scope }) {
        const action = { operator, action: 'search.alert', subject: id, details: { state } } as const;
        const changed = await recordAction(db, action, () => setSearchAlerts(db, scope, id, state === 'on'));
        if (changed === undefined) throw new HttpError(404, 'NOT_FOUND', `there is no saved search ${id}`);
        return { name: changed.name };
      },
    }),
  ];
}

/** Alerts go to the destinations, so that they need more than a look. */
export const ALERTING = { needs: 'destinations.change', data: 'by source' } as const;

/** What a visitor may change of saved searches. */
export const editorOf = (visitor: Omit<RouteContext, 'signal'>): SearchEditor => ({
  name: visitor.operator.name,
  mayAlert: hasAccess(visitor, ALERTING),
  managesAll: visitor.permissions.has('searches.manage'),
});

const savedId = z.object({ id: z.string().regex(/^\d{1,18}$/) });

const saveBody = z.strictObject({
  name: text.trim().min(1).max(LONGEST_NAME).describe('case is ignored'),
  line: searchLine.default(''),
  since: written,
  until: written,
});

/** Saves a search; with `raisesAlerts`, what it finds from then on raises alerts. */
async function save(
  db: Db,
  { body }: { readonly body: z.output<typeof saveBody> },
  context: RouteContext,
  raisesAlerts: boolean,
): Promise<{ readonly name: string }> {
  const { name, line, since = null, until = null } = body;
  const search = { name, line, since, until, raisesAlerts };
  const details = { name, line, since, until, raises_alerts: raisesAlerts };
  const action = { operator: context.operator, action: 'search.save', subject: name, details } as const;
  await recordAction(db, action, () => saveSearch(db, context.scope, search, editorOf(context)));
  return { name };
}

const saved = { input: { body: saveBody }, answer: nameAnswer };
