import { z } from 'zod';
import { text } from '../api/parameters.ts';
import { CLOUD_TYPES } from '../../events/domain.ts';
import { CHANGE_SOURCES } from '../access/access.ts';
import { whole, wholeSchema } from '../api/paging.ts';
import { changeRoute, jsonRoute, namePath, parseInput } from '../api/route.ts';
import type { Area } from '../area.ts';
import type { Made, SourceChanges } from '../../sources/change-sources.ts';
import type { Db } from '../../store/server/database.ts';
import { shared } from '../../lib/cached.ts';
import { MINUTE_MS } from '../../lib/clock.ts';
import { readComparedDays } from '../../store/reconcile/coverage.ts';
import { firstCell } from './coverage-cells.ts';
import { addSourcePage } from './add-source-page.ts';
import { renderSource } from './source-page.ts';
import { renderSources } from './sources-page.ts';

const READ = { needs: 'settings.read', data: 'by source' } as const;

/** A comparison is of the last quarters of an hour: few of the cells change meanwhile. */
const COVERAGE_KEPT_MS = 10 * MINUTE_MS;

export function sourcesArea(db: Db, changes: SourceChanges): Area {
  const comparedDays = shared(() => readComparedDays(db, firstCell()), COVERAGE_KEPT_MS);
  return {
    tag: 'sources',
    routes: [
      jsonRoute({
        route: 'GET /sources',
        summary: 'list the sources from the settings and the database',
        ...READ,
        answer: wholeSchema(sourceSchema),
        work: async (_asked, { scope }) => whole(await changes.list(scope)),
      }),
      jsonRoute({
        route: 'POST /sources',
        summary: 'add a source, whose deliveries are accepted within a second',
        ...CHANGE_SOURCES,
        input: {
          body: z.strictObject({
            name: text.max(63),
            secret,
            api_url: text.max(1_000).optional(),
            api_token: text.max(10_000).optional(),
            username: text.max(1_000).optional(),
            password: text.max(1_000).optional(),
            message_types: z.array(z.enum(CLOUD_TYPES)).optional(),
            deliveries_per_second: limit.meta({ description: 'limit in each ingest process' }),
            bytes_per_second: limit.meta({ description: 'limit in each ingest process, for bodies as sent' }),
          }),
        },
        answer: made,
        async work({ body }, { operator }) {
          const { name, api_url: apiUrl = '', username } = body;
          const hasCloud = [body.api_url, body.api_token, username, body.password].some(
            (one) => one !== undefined,
          );
          const cloud = { apiUrl, token: value(body.api_token), username, password: value(body.password) };
          const source = { name, secret: value(body.secret), cloud: hasCloud ? cloud : undefined };
          const { message_types: messageTypes, deliveries_per_second, bytes_per_second } = body;
          const limits = { deliveries_per_second, bytes_per_second };
          return toMade(name, await changes.add(operator, { ...source, messageTypes, limits }));
        },
      }),
      jsonRoute({
        route: 'POST /sources/{name}/rotate',
        summary: 'add a new secret to a source, before the old ones',
        ...CHANGE_SOURCES,
        input: {
          path: namePath,
          body: z.strictObject({
            secret,
            keep_hours: z.coerce
              .number()
              .min(0)
              .max(8_760)
              .optional()
              .describe('how long the old secrets are accepted; default: until they are dropped'),
          }),
        },
        answer: made,
        async work({ path: { name }, body }, { operator }) {
          const { keep_hours: hours } = body;
          const until = hours === undefined ? null : new Date(Date.now() + hours * 3_600_000);
          return toMade(name, await changes.rotate(operator, name, body.secret, until));
        },
      }),
      changeRoute(
        'POST /sources/{name}/drop-old',
        'drop all secrets of a source but the first',
        CHANGE_SOURCES,
        (name, { operator }) => changes.dropOld(operator, name),
      ),
      changeRoute(
        'POST /sources/{name}/disable',
        'refuse further deliveries from a source; its events stay',
        CHANGE_SOURCES,
        (name, { operator }) => changes.disable(operator, name),
      ),
    ],
    pages: [
      {
        path: '/sources',
        entry: { label: 'Sources', group: 'Administer', icon: 'sources' },
        ...READ,
        render: (request, visitor) => renderSources({ db, changes, comparedDays }, request, visitor),
      },
      {
        path: '/sources/:name',
        ...READ,
        render: (request, visitor) =>
          renderSource(db, changes, parseInput({ path: namePath }, request).path.name, visitor),
      },
      // Not below /sources/: a source may have any name.
      {
        path: '/add-source',
        ...CHANGE_SOURCES,
        render: async () => addSourcePage(changes.usual().messageTypes),
      },
    ],
  };
}

const secret = text
  .max(1_000)
  .optional()
  .describe('stored encrypted; default: generated, and returned this once');

const made = z.object({
  name: z.string(),
  secret: z.string().nullable().describe('the generated secret, which is not shown again'),
});

const toMade = (name: string, { generated }: Made) => ({ name, secret: generated ?? null });

const limit = z.coerce.number().int().min(1).optional();

const value = (text: string | undefined) => (text === undefined ? undefined : { value: text });

const sourceSchema = z
  .object({
    name: z.string(),
    origin: z.enum(['settings', 'database']),
    state: z.enum(['in use', 'disabled', 'conflict']).meta({
      description: 'conflict: the settings have a source with this name, which is used instead',
    }),
    secrets: z.number().meta({ description: 'number of accepted secrets' }),
    old_secrets_until: z
      .string()
      .nullable()
      .meta({ description: 'when all secrets but the first expire; null: never' }),
    api_url: z.string().nullable(),
    message_types: z
      .array(z.string())
      .readonly()
      .nullable()
      .meta({ description: 'null: those in the setting MESSAGE_TYPES' }),
    deliveries_per_second: z.number().nullable().meta({ description: 'limit in each ingest process' }),
    bytes_per_second: z.number().nullable().meta({ description: 'the same for bytes of bodies as sent' }),
  })
  .meta({ id: 'Source' });
