import { z } from 'zod';
import type { Clock } from '../../src/lib/clock.ts';
import type { Dialect } from '../dialects.ts';
import { badRequest, found } from '../http/errors.ts';
import { digitsOf, int64, int64Of, int64Path } from '../http/int64.ts';
import { array, empty, noInput, object, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { timestamp } from '../world/seeding.ts';
import type { Resource } from '../world/seeding.ts';
import type { World } from '../world/world.ts';

const anyFields = z.looseObject({});
const resourceSchema = z.looseObject({ id: int64 });

const reference = z.strictObject({ id: int64 });

/** Members of both bodies. The specification does not state which are required, so none is. */
const common = z.looseObject({
  name: z.string().optional(),
  description: z.string().nullish(),
  format_type: z.string().optional(),
  enable_inject_operator_name_attribute: z.boolean().optional(),
});

const radsecRealm = z.strictObject({
  name: z.string(),
  enable_strip_realm_name: z.boolean().optional(),
  external_radius_server_object_ids: z.array(int64).optional(),
});

const radiusClient = z.strictObject({
  shared_secret: z.string(),
  description: z.string().nullish(),
  l3_address_profile_id: int64.optional(),
});

const radiusRealm = z.strictObject({
  name: z.string(),
  enable_strip_realm_name: z.boolean().optional(),
  radius_client_object_id: int64.optional(),
});

/** The update bodies that the specification shows (RADIUS-related configuration payloads). */
const proxyBodies = {
  radsec: common.extend({ realms: z.array(z.union([reference, radsecRealm])).optional() }),
  radius: common.extend({
    retry_count: z.int().nonnegative().optional(),
    retry_delay: z.int().nonnegative().optional(),
    dead_time: z.int().nonnegative().optional(),
    clients: z.array(z.union([reference, radiusClient])).optional(),
    realms: z.array(z.union([reference, radiusRealm])).optional(),
  }),
};

interface KindOptions {
  /** The update body, if the specification shows one. */
  body?: z.ZodObject;
  /** Whether an update returns no body. By default it returns the resource. */
  silentPut?: true;
  /** Members of the resource that the vendor's schema requires, and that of its update lacks. */
  published?: Readonly<Record<string, unknown>>;
}

/** Path, permission to write (reading needs `<permission>:r`), name, methods. */
type Kind = readonly [string, string, string, ('GET' | 'PUT' | 'DELETE')[], KindOptions?];

/** The only resources that exist from the start: those that the SSIDs name. */
const ADVANCED_SETTINGS = '/ssids/advanced-settings/{id}';

const USER_DIRECTORY = {
  external_user_directory_type: 'ACTIVE_DIRECTORY',
  enable_radius_server_credential_caching: false,
  cache_lifetime: 86_400,
  ldap_retry_interval: 600,
  local_check_interval: 300,
  remote_check_interval: 30,
  user_group_attribute: '',
  entries: [],
};

const ALL: Kind[3] = ['GET', 'PUT', 'DELETE'];

/** Specification, Configuration resources: those with an identifier, which keep the members of their last update. */
const KINDS: readonly Kind[] = [
  [
    '/usergroups/{id}',
    'usergroup',
    'user group',
    ['PUT', 'DELETE'],
    { published: { ssids: [], user_count: 0 } },
  ],
  ['/user-profiles/{id}', 'user-profile', 'user profile', ALL],
  ['/tunnel-concentrators/{id}', 'tunnel-concentrator', 'tunnel concentrator', ALL],
  ['/tcap-profiles/{id}', 'tunnel-concentrator', 'address pool', ALL],
  [ADVANCED_SETTINGS, 'ssid', 'advanced settings of an SSID', ['GET', 'PUT']],
  [
    '/radsec-proxies/{id}',
    'radsec-proxies',
    'RADSEC proxy',
    ALL,
    { body: proxyBodies.radsec, published: { operator_name_type: 'WBAID' } },
  ],
  [
    '/radius-servers/internal/{id}',
    'radius-server',
    'internal RADIUS server',
    ALL,
    { published: { device_ids: [], external_user_directory: USER_DIRECTORY } },
  ],
  [
    '/radius-servers/external/{id}',
    'radius-server',
    'external RADIUS server',
    ALL,
    { silentPut: true, published: { enable_a3: false } },
  ],
  ['/radius-proxies/{id}', 'radius-proxy', 'RADIUS proxy', ALL, { body: proxyBodies.radius }],
  [
    '/radius-client-objects/{id}',
    'radius-client-object',
    'RADIUS client object',
    ALL,
    { silentPut: true, published: { entries: [] } },
  ],
  ['/radio-profiles/{id}', 'radio-profile', 'radio profile', ALL],
  ['/radio-profiles/wmm-qos/{id}', 'radio-profile', 'WMM QoS settings', ['GET', 'PUT']],
  // The specification names the path, and not its operations.
  ['/radio-profiles/sensor-scan/{id}', 'radio-profile', 'sensor scan settings', ['GET', 'PUT']],
];

interface Needs {
  world: World;
  clock: Clock;
  dialect: Dialect;
}

/** The members of every configuration resource that the vendor's schemas require beside those of its update. */
function publishedMembers(
  { world, clock, dialect }: Needs,
  old: Resource | undefined,
  published: KindOptions['published'],
) {
  if (dialect === 'spec') return {};
  const now = timestamp(clock.now());
  return {
    create_time: old?.['create_time'] ?? now,
    update_time: now,
    org_id: world.account.creatingOrgId,
    predefined: false,
    ...published,
  };
}

/** The resources with an identifier, and the two kinds without. */
export function resourceRoutes(needs: Needs): Route[] {
  return [...KINDS.flatMap((kind) => kindRoutes(kind, needs)), ...connectionRoutes(), ...scheduleRoutes()];
}

function kindRoutes([path, permission, name, methods, options = {}]: Kind, needs: Needs): Route[] {
  const { body: specified = anyFields, silentPut, published } = options;
  // The published interface has further members.
  const body = needs.dialect === 'spec' ? specified : anyFields;
  const seeded = path === ADVANCED_SETTINGS ? [...needs.world.ssids.values()] : [];
  const held = new Map(
    seeded.map(({ advanced_settings_id: id }): [string, Resource] => [
      String(id),
      { ...publishedMembers(needs, undefined, published), id },
    ]),
  );
  const input = z.object({ id: int64Path });
  const get = route('GET', path, `Get: ${name}`, {
    access: [`${permission}:r`],
    input,
    success: object(resourceSchema),
    handle: ({ id }) => found(held.get(id), name, id),
  });
  const put = route('PUT', path, `Replace or create: ${name}`, {
    access: [permission],
    input: input.extend({ body }),
    success: silentPut === true ? empty() : object(resourceSchema),
    handle({ id, body }) {
      const resource = { ...publishedMembers(needs, held.get(id), published), ...body, id: int64Of(id) };
      held.set(id, resource);
      return resource;
    },
  });
  const remove = route('DELETE', path, `Delete: ${name}`, {
    access: [permission],
    input,
    handle({ id }) {
      found(held.get(id), name, id);
      held.delete(id);
    },
  });
  return [get, put, remove].filter(({ method }) => methods.some((listed) => listed === method));
}

/** The connection to a third-party API. There is one, without an identifier. */
function connectionRoutes(): Route[] {
  const path = '/third-party-api-connection';
  const permission = 'third-party-api-connection';
  let connection: Record<string, unknown> | undefined;
  return [
    route('GET', path, 'List the connections to third-party APIs', {
      access: [`${permission}:r`],
      input: noInput,
      success: array(anyFields),
      handle: () => (connection === undefined ? [] : [connection]),
    }),
    route('PUT', path, 'Replace or create the connection to a third-party API', {
      access: [permission],
      input: z.object({ body: anyFields }),
      success: object(anyFields),
      handle({ body }) {
        connection = body;
        return body;
      },
    }),
    route('DELETE', path, 'Delete the connection to a third-party API', {
      access: [permission],
      input: noInput,
      handle() {
        connection = undefined;
      },
    }),
  ];
}

/** AFC schedules by owner and folder. The body may name both identifiers as the query does, or in snake_case. */
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
    const { ownerId, owner_id, folderId, folder_id } = body;
    const [owner, folder] = [ownerId ?? owner_id, folderId ?? folder_id];
    if (owner === undefined || folder === undefined) throw badRequest('body: needs ownerId and folderId');
    schedules.set(`${digitsOf(owner)} ${digitsOf(folder)}`, body);
  }

  return [
    route('GET', path, 'Get the AFC schedule of a site', {
      access: [`${permission}:r`],
      input: z.object({ query: z.object({ ownerId: int64Path, folderId: int64Path }) }),
      success: object(anyFields),
      handle: ({ query: { ownerId, folderId } }) =>
        found(schedules.get(`${ownerId} ${folderId}`), 'AFC schedule of folder', folderId),
    }),
    ...(['PUT', 'POST'] as const).map((method) =>
      route(method, path, 'Set the AFC schedule of a site', {
        access: [permission],
        input: z.object({ body: place }),
        handle: keep,
      }),
    ),
  ];
}
