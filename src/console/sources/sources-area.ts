import { z } from 'zod';
import { CLOUD_TYPES } from '../../domain.ts';
import type { Operator } from '../../store/operator-log.ts';
import type { Scope } from '../../store/scope.ts';
import { CHANGE_SOURCES } from '../access/rule.ts';
import { jsonRoute, NOTHING, type ApiRoute } from '../api/route.ts';
import type { Area } from '../area.ts';
import { sourceSchema, type SourceLine } from './source-schema.ts';
import { sourcesPage } from './sources-page.ts';

/** A source that is added. Without a secret, one is generated; the API takes secrets themselves. */
export interface AddedSource<Secret = { readonly value: string }> {
  readonly name: string;
  readonly secret: Secret | undefined;
  readonly cloud:
    | {
        readonly apiUrl: string;
        readonly token?: Secret | undefined;
        readonly username?: string | undefined;
        readonly password?: Secret | undefined;
      }
    | undefined;
  readonly messageTypes: readonly string[] | undefined;
  readonly limits?: {
    readonly deliveries_per_second?: number | undefined;
    readonly bytes_per_second?: number | undefined;
  };
}

/** What a change has made. */
export interface Made {
  /** The generated secret: nobody can read it again. Undefined if it was given. */
  readonly generated: string | undefined;
}

/** What pages and routes of sources need. Changes are recorded in the operator log, and throw a UsageError if refused. */
export interface SourcesOptions {
  readonly list: (scope: Scope) => Promise<readonly SourceLine[]>;
  readonly add: (operator: Operator, source: AddedSource) => Promise<Made>;
  readonly rotate: (
    operator: Operator,
    name: string,
    secret: string | undefined,
    oldSecretsUntil: Date | null,
  ) => Promise<Made>;
  readonly dropOld: (operator: Operator, name: string) => Promise<void>;
  readonly disable: (operator: Operator, name: string) => Promise<void>;
}

const READ = { needs: 'settings.read', data: 'by source' } as const;

/** The sources, and their changes without a restart. */
export function sourcesArea(options: SourcesOptions): Area {
  return {
    tag: 'sources',
    navigation: [
      {
        path: '/sources',
        label: 'Sources',
        group: 'Administer',
        icon: 'M4.5 12.5a3 3 0 0 1 .3-6 4 4 0 0 1 7.6 1 2.5 2.5 0 0 1-.4 5z',
      },
    ],
    routes: [
      listRoute(options),
      addRoute(options),
      rotateRoute(options),
      plainRoute('drop-old', 'drop all secrets of a source but the first', options.dropOld),
      plainRoute('disable', 'refuse further deliveries of a source; its events stay', options.disable),
    ],
    pages: [
      {
        path: '/sources',
        ...READ,
        render: async (_request, visitor) => sourcesPage(await options.list(visitor.scope), visitor),
      },
    ],
  };
}

const listRoute = ({ list }: SourcesOptions) =>
  jsonRoute({
    route: 'GET /sources',
    summary: 'list the sources of the settings and of the database',
    ...READ,
    asks: NOTHING,
    answer: z.object({ items: z.array(sourceSchema), next_cursor: z.null() }),
    work: async (_asked, { scope }) => ({ items: [...(await list(scope))], next_cursor: null }),
  });

const secret = z
  .string()
  .max(1_000)
  .optional()
  .describe('stored encrypted; default: generated, and returned this once');

const made = z.object({
  name: z.string(),
  secret: z.string().nullable().describe('the generated secret, which nobody can read again'),
});

const toMade = (name: string, { generated }: Made) => ({ name, secret: generated ?? null });

const limit = z.coerce.number().int().min(1).optional();

const addRoute = ({ add }: SourcesOptions) =>
  jsonRoute({
    route: 'POST /sources',
    summary: 'add a source, whose deliveries are accepted within a second',
    ...CHANGE_SOURCES,
    asks: z.object({
      body: z.strictObject({
        name: z.string().max(63),
        secret,
        api_url: z.string().max(1_000).optional(),
        api_token: z.string().max(10_000).optional(),
        username: z.string().max(1_000).optional(),
        password: z.string().max(1_000).optional(),
        message_types: z.array(z.enum(CLOUD_TYPES)).optional(),
        deliveries_per_second: limit.meta({ description: 'limit in each ingest process' }),
        bytes_per_second: limit.meta({ description: 'limit in each ingest process, of bodies as sent' }),
      }),
    }),
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
      return toMade(name, await add(operator, { ...source, messageTypes, limits }));
    },
  });

const value = (text: string | undefined) => (text === undefined ? undefined : { value: text });

const onePath = z.object({ name: z.string().max(63) });

const rotateRoute = ({ rotate }: SourcesOptions) =>
  jsonRoute({
    route: 'POST /sources/{name}/rotate',
    summary: 'add a new secret to a source, in front of the old ones',
    ...CHANGE_SOURCES,
    asks: z.object({
      path: onePath,
      body: z.strictObject({
        secret,
        keep_hours: z.coerce
          .number()
          .min(0)
          .max(8_760)
          .optional()
          .describe('how long the old secrets are accepted; default: until they are dropped'),
      }),
    }),
    answer: made,
    async work({ path: { name }, body }, { operator }) {
      const { keep_hours: hours } = body;
      const until = hours === undefined ? null : new Date(Date.now() + hours * 3_600_000);
      return toMade(name, await rotate(operator, name, body.secret, until));
    },
  });

const plainRoute = (
  verb: 'drop-old' | 'disable',
  summary: string,
  change: (operator: Operator, name: string) => Promise<void>,
): ApiRoute =>
  jsonRoute({
    route: `POST /sources/{name}/${verb}`,
    summary,
    ...CHANGE_SOURCES,
    asks: z.object({ path: onePath }),
    answer: z.object({ name: z.string() }),
    async work({ path: { name } }, { operator }) {
      await change(operator, name);
      return { name };
    },
  });
