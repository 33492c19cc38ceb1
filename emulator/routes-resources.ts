import { z } from 'zod';
import { found } from './api-error.ts';
import { exactNumber, int64, int64Path } from './int64.ts';
import { proxyBodies } from './proxy-schemas.ts';
import { array, empty, object, route } from './route.ts';
import type { Method, Route } from './route.ts';
import type { Resource } from './world.ts';

const tag = 'Configuration resources';
const anyFields = z.looseObject({});
const resourceSchema = z.looseObject({ id: int64 });

interface Kind {
  path: string;
  /** Reading asks for `<permission>:r`, writing for `permission`. */
  permission: string;
  name: string;
  methods: readonly Extract<Method, 'GET' | 'PUT' | 'DELETE'>[];
  /** Where the specification shows the members of the update. */
  body?: z.ZodObject;
  /** Whether an update answers nothing; it answers the resource where not stated. */
  silentPut?: true;
}

const ALL = ['GET', 'PUT', 'DELETE'] as const;

/** Specification, Configuration resources: the rows that are addressed by an identifier and keep what they are given. */
const KINDS: readonly Kind[] = [
  { path: '/usergroups/{id}', permission: 'usergroup', name: 'user group', methods: ['PUT', 'DELETE'] },
  { path: '/user-profiles/{id}', permission: 'user-profile', name: 'user profile', methods: ALL },
  {
    path: '/tunnel-concentrators/{id}',
    permission: 'tunnel-concentrator',
    name: 'tunnel concentrator',
    methods: ALL,
  },
  { path: '/tcap-profiles/{id}', permission: 'tunnel-concentrator', name: 'address pool', methods: ALL },
  {
    path: '/ssids/advanced-settings/{id}',
    permission: 'ssid',
    name: 'advanced settings of an SSID',
    methods: ['GET', 'PUT'],
  },
  {
    path: '/radsec-proxies/{id}',
    permission: 'radsec-proxies',
    name: 'RADSEC proxy',
    methods: ALL,
    body: proxyBodies.radsec,
  },
  {
    path: '/radius-servers/internal/{id}',
    permission: 'radius-server',
    name: 'internal RADIUS server',
    methods: ALL,
  },
  {
    path: '/radius-servers/external/{id}',
    permission: 'radius-server',
    name: 'external RADIUS server',
    methods: ALL,
    silentPut: true,
  },
  {
    path: '/radius-proxies/{id}',
    permission: 'radius-proxy',
    name: 'RADIUS proxy',
    methods: ALL,
    body: proxyBodies.radius,
  },
  {
    path: '/radius-client-objects/{id}',
    permission: 'radius-client-object',
    name: 'RADIUS client object',
    methods: ALL,
    silentPut: true,
  },
  { path: '/radio-profiles/{id}', permission: 'radio-profile', name: 'radio profile', methods: ALL },
  {
    path: '/radio-profiles/wmm-qos/{id}',
    permission: 'radio-profile',
    name: 'WMM QoS settings',
    methods: ['GET', 'PUT'],
  },
];

/** All of them, and the two kinds of configuration that have no identifier. */
export function resourceRoutes(): Route[] {
  return [...KINDS.flatMap(kindRoutes), ...connectionRoutes(), ...scheduleRoutes()];
}

function kindRoutes({ path, permission, name, methods, body = anyFields, silentPut }: Kind): Route[] {
  const held = new Map<string, Resource>();
  const input = z.object({ id: int64Path });
  const get = route({
    method: 'GET',
    path,
    tag,
    summary: `Get: ${name}`,
    access: [`${permission}:r`],
    input,
    success: object(resourceSchema),
    handle: ({ id }) => found(held.get(id), name, id),
  });
  const put = route({
    method: 'PUT',
    path,
    tag,
    summary: `Replace or create: ${name}`,
    access: [permission],
    input: input.extend({ body }),
    success: silentPut === true ? empty() : object(resourceSchema),
    handle({ id, body }) {
      const resource = { ...body, id: exactNumber(id) };
      held.set(id, resource);
      return resource;
    },
  });
  const remove = route({
    method: 'DELETE',
    path,
    tag,
    summary: `Delete: ${name}`,
    access: [permission],
    input,
    success: empty(),
    handle({ id }) {
      found(held.get(id), name, id);
      held.delete(id);
    },
  });
  return [get, put, remove].filter(({ method }) => methods.some((listed) => listed === method));
}

/** The connection to a third party's API: one, without an identifier. */
function connectionRoutes(): Route[] {
  const path = '/third-party-api-connection';
  const permission = 'third-party-api-connection';
  let connection: Record<string, unknown> | undefined;
  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'Connections to APIs of third parties',
      access: [`${permission}:r`],
      input: z.object({}),
      success: array(anyFields),
      handle: () => (connection === undefined ? [] : [connection]),
    }),
    route({
      method: 'PUT',
      path,
      tag,
      summary: 'Replace or create the connection',
      access: [permission],
      input: z.object({ body: anyFields }),
      success: object(anyFields),
      handle({ body }) {
        connection = body;
        return body;
      },
    }),
    route({
      method: 'DELETE',
      path,
      tag,
      summary: 'Delete the connection',
      access: [permission],
      input: z.object({}),
      success: empty(),
      handle() {
        connection = undefined;
      },
    }),
  ];
}

/** AFC schedules by owner and folder, whose identifiers the body may name as the query does or in snake_case. */
function scheduleRoutes(): Route[] {
  const path = '/site/afc/schedule';
  const permission = 'site-afc-schedule';
  const schedules = new Map<string, Record<string, unknown>>();
  const place = z.looseObject({
    ownerId: int64.optional(),
    owner_id: int64.optional(),
    folderId: int64.optional(),
    folder_id: int64.optional(),
  });

  function keep({ body }: { body: z.output<typeof place> }): void {
    schedules.set(`${body.ownerId ?? body.owner_id} ${body.folderId ?? body.folder_id}`, body);
  }

  return [
    route({
      method: 'GET',
      path,
      tag,
      summary: 'The AFC schedule of a site',
      access: [`${permission}:r`],
      input: z.object({ query: z.object({ ownerId: int64Path, folderId: int64Path }) }),
      success: object(anyFields),
      handle: ({ query: { ownerId, folderId } }) =>
        found(schedules.get(`${ownerId} ${folderId}`), 'AFC schedule of folder', folderId),
    }),
    ...(['PUT', 'POST'] as const).map((method) =>
      route({
        method,
        path,
        tag,
        summary: 'Set the AFC schedule of a site',
        access: [permission],
        input: z.object({ body: place }),
        success: empty(),
        handle: keep,
      }),
    ),
  ];
}
