import { z } from 'zod';
import { isRawNumber } from '../../src/events/exact-json.ts';
import { flatPageSchema } from '../../src/cloud/contract/shared.ts';
import type { Dialect } from '../dialects.ts';
import { InvalidQueryError } from './errors.ts';
import { empty } from './route.ts';
import type { Success, TaggedRoute } from './route.ts';

/** How the published interface answers a call that the specification describes otherwise. */
interface Published {
  /** The dialect, if the others answer as specified. */
  onlyIn?: Dialect;
  /** The status of an answer without a body. */
  emptyStatus?: 200 | 202;
  /** Rewrites the body after its members are in the published form. */
  body?: (body: unknown) => unknown;
  /** The schema of the rewritten body. */
  schema?: z.ZodType;
}

/** By method and path: the published answers that differ by more than the form of pages. */
const PUBLISHED: Readonly<Record<string, Published>> = {
  'POST /account/viq/:backup': { emptyStatus: 200 },
  'POST /subscriptions/webhook': { emptyStatus: 202 },
  'DELETE /subscriptions/webhook/{id}': { emptyStatus: 202 },
  'DELETE /subscriptions/webhook/:delete': { emptyStatus: 202 },
  'PUT /ssids/{id}/psk/password': { emptyStatus: 200 },
  'PUT /ssids/{id}/mode/wep': { emptyStatus: 200 },
  'PUT /ssids/{id}/mode/psk': { emptyStatus: 200 },
  'PUT /ssids/{id}/mode/ppsk': { emptyStatus: 200 },
  'PUT /ssids/{id}/mode/dot1x': { emptyStatus: 200 },
  'PUT /ssids/{id}/mode/open': { emptyStatus: 200 },
  'GET /site/afc/schedule': {
    onlyIn: 'vendor',
    body: (schedule) => [schedule],
    schema: z.array(z.looseObject({})),
  },
  'GET /operations/{operationId}': { body: withFlatResponse },
  'GET /auth/permissions': { body: permissionNames, schema: z.array(z.string()) },
};

const SUBSCRIPTION_LIST = 'GET /subscriptions/webhook';

/** The routes of a dialect, from routes that answer as the specification says. */
export function inDialect(dialect: Dialect, routes: readonly TaggedRoute[]): TaggedRoute[] {
  if (dialect === 'spec') return [...routes];
  return routes.map((route) => (route.access === 'control' ? route : published(dialect, route)));
}

/** A route with the answers of the published interface: no null members, flat pages, 422 for an invalid query. */
function published(dialect: Dialect, route: TaggedRoute): TaggedRoute {
  const { onlyIn = dialect, ...differing } = PUBLISHED[nameOf(route)] ?? {};
  const {
    emptyStatus,
    body: rewrite = (same: unknown) => same,
    schema,
  } = onlyIn === dialect ? differing : {};
  const isPageArray = dialect === 'vendor' && nameOf(route) === SUBSCRIPTION_LIST;

  function answer(parts: Parameters<TaggedRoute['answer']>[0]) {
    const reply = answerOrRefuse(route, parts);
    if (emptyStatus !== undefined) return { status: emptyStatus };
    if (reply.body === undefined) return reply;
    const flat = flattened(withoutNulls(reply.body));
    return { ...reply, body: rewrite(isPageArray ? [flat] : flat) };
  }

  const success =
    schema === undefined ? publishedSuccess(route.success, isPageArray) : { ...route.success, schema };
  return { ...route, success: emptyStatus === undefined ? success : empty(emptyStatus), answer };
}

function publishedSuccess(success: Success, isPageArray: boolean): Success {
  if (success.item === undefined) return success;
  const page = flatPageSchema(success.item);
  return { ...success, schema: isPageArray ? z.array(page) : page };
}

function answerOrRefuse(route: TaggedRoute, parts: Parameters<TaggedRoute['answer']>[0]) {
  try {
    return route.answer(parts);
  } catch (error) {
    throw error instanceof InvalidQueryError ? error.unprocessable() : error;
  }
}

function nameOf({ method, path }: TaggedRoute): string {
  return `${method} ${path}`;
}

const specifiedPage = z.strictObject({
  pagination: z.object({ total: z.int(), page: z.int(), limit: z.int(), count: z.int() }),
  data: z.array(z.unknown()),
});

/** A page of the specification in the published form. Any other body stays as it is. */
function flattened(body: unknown): unknown {
  const page = specifiedPage.safeParse(body).data;
  if (page === undefined) return body;
  const { total, page: number, limit, count } = page.pagination;
  return {
    page: number,
    count,
    total_pages: Math.ceil(total / limit),
    total_count: total,
    data: page.data,
  };
}

const operationSchema = z.looseObject({ response: z.unknown().optional() });

function withFlatResponse(body: unknown): unknown {
  const operation = operationSchema.parse(body);
  return operation.response === undefined ? body : { ...operation, response: flattened(operation.response) };
}

/** A value without the members that are null: the vendor's schemas have no null. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]: [string, unknown]) =>
      member === null || member === undefined ? [] : [[name, withoutNulls(member)]],
    ),
  );
}

/** The names of permissions. The vendor's description has no members for them, only text. */
function permissionNames(body: unknown): string[] {
  return z
    .array(z.object({ name: z.string() }))
    .parse(body)
    .map(({ name }) => name);
}
