import { z } from 'zod';
import type { Call } from './harness.ts';
import { idsOf, onlineDevice } from './harness.ts';

/** The shape of a body: the three of the specification, a bare value, or none. */
export type Shape = 'object' | 'array' | 'page' | 'value' | 'empty';

/** What a call of a row is made of. */
export interface Request {
  /** Where the path has a parameter: what stands there. */
  id?: number | string;
  query?: string;
  body?: unknown;
  raw?: string;
  headers?: Record<string, string>;
}

/** One row (or one method of a row) of the specification's endpoint tables. */
export interface EndpointRow {
  table: string;
  method: string;
  /** As the specification writes it. */
  path: string;
  status: number;
  shape: Shape;
  /** Makes what the call needs and says how to call. */
  request: (call: Call) => Request | Promise<Request>;
  /** Calls without a token are not refused. */
  isOpen?: true;
}

type Prepare = EndpointRow['request'];

const nothing: Prepare = () => ({});
const device: Prepare = async (call) => ({ id: await onlineDevice(call) });
const first = (path: string) => async (call: Call) => (await idsOf(call, path))[0] ?? '';
const devices = async (call: Call) => ({ ids: (await idsOf(call, '/devices')).slice(0, 2) });
const listed: Prepare = async (call) => ({ body: await devices(call) });

async function created(call: Call, path: string, body: unknown): Promise<number | string> {
  const answer = await call('POST', path, { body });
  const schema = z.union([z.object({ id: z.int() }), z.array(z.object({ id: z.int() })).min(1)]);
  return [schema.parse(answer.body)].flat()[0]?.id ?? '';
}

const newUser = () => ({ login_name: `new-${crypto.randomUUID()}@emulator.test` });
const user: Prepare = async (call) => ({ id: await created(call, '/users', newUser()) });
const externalUser: Prepare = async (call) => ({ id: await created(call, '/users/external', newUser()) });
const endUser: Prepare = async (call) => ({ id: await created(call, '/endusers', { user_name: 'new' }) });
const policy: Prepare = async (call) => ({ id: await created(call, '/network-policies', { name: 'new' }) });
const ssid: Prepare = async (call) => ({ id: await first('/ssids')(call) });

const subscription = {
  application: 'test',
  url: 'http://127.0.0.1:9/',
  secret: 's',
  message_type: 'AUDIT_LOG_ALL',
  status: 'DISABLED',
};
const webhook: Prepare = async (call) => ({
  id: await created(call, '/subscriptions/webhook', [subscription]),
});

async function operation(call: Call): Promise<string> {
  const answer = await call('GET', '/devices?async=true');
  return new URL(answer.headers.get('location') ?? '').pathname.split('/').at(-1) ?? '';
}
const anOperation: Prepare = async (call) => ({ id: await operation(call) });

async function location(call: Call): Promise<number> {
  const answer = await call('GET', '/devices?fields=location_id');
  const schema = z.object({ data: z.array(z.object({ location_id: z.int().nullable() })) });
  return z
    .int()
    .parse(schema.parse(answer.body).data.find(({ location_id: id }) => id !== null)?.location_id);
}

async function organization(call: Call): Promise<number> {
  return z.int().parse((await call('GET', '/hiq/context/creating')).body);
}

/** A preparation with more to send. */
function plus(prepare: Prepare, more: (call: Call) => Request | Promise<Request>): Prepare {
  return async (call) => ({ ...(await prepare(call)), ...(await more(call)) });
}

function rows(table: string, list: readonly (readonly [string, number, Shape, Prepare])[]): EndpointRow[] {
  return list.map(([operationName, status, shape, request]) => {
    const [method = '', path = ''] = operationName.split(' ');
    return { table, method, path, status, shape, request };
  });
}

const open = (list: EndpointRow[]): EndpointRow[] => list.map((row) => ({ ...row, isOpen: true }));

const LOGIN = { username: 'admin@emulator.test', password: 'emulated-admin' };

const authentication = [
  ...open(
    rows('Authentication and authorization', [
      ['POST /login', 200, 'object', () => ({ body: LOGIN })],
      [
        'POST /auth/apitoken/:validate',
        200,
        'empty',
        async (call) => ({
          raw: z
            .object({ access_token: z.string() })
            .parse((await call('POST', '/login', { body: LOGIN })).body).access_token,
          headers: { 'content-type': 'text/plain' },
        }),
      ],
    ]),
  ),
  ...rows('Authentication and authorization', [
    ['POST /logout', 200, 'empty', nothing],
    [
      'POST /auth/apitoken',
      200,
      'object',
      () => ({ body: { permissions: ['device:r'], description: 'test' } }),
    ],
    ['GET /auth/apitoken/info', 200, 'object', nothing],
    ['GET /auth/permissions', 200, 'array', nothing],
    ['POST /auth/permissions/:check', 200, 'object', () => ({ body: { uri: '/devices', method: 'get' } })],
  ]),
];

const account = rows('Account', [
  [
    'POST /account/:switch',
    200,
    'object',
    async (call) => {
      const home = await call('GET', '/account/home');
      return { query: `id=${z.object({ id: z.int() }).parse(home.body).id}` };
    },
  ],
  ['GET /account/external', 200, 'array', nothing],
  ['GET /account/home', 200, 'object', nothing],
  ['GET /account/viq', 200, 'object', nothing],
  ['POST /account/viq/:backup', 202, 'empty', nothing],
  ['PUT /v1/account/viq/default-device-password', 200, 'empty', () => ({ body: 'Secret-123' })],
]);

const users = rows('Users', [
  ['GET /users', 200, 'page', nothing],
  ['POST /users', 201, 'object', () => ({ body: newUser() })],
  ['GET /users/{id}', 200, 'object', user],
  ['PATCH /users/{id}', 200, 'object', plus(user, () => ({ body: { display_name: 'Changed' } }))],
  ['DELETE /users/{id}', 200, 'empty', user],
  ['GET /users/external', 200, 'page', nothing],
  ['POST /users/external', 200, 'object', () => ({ body: newUser() })],
  ['GET /users/external/{id}', 200, 'object', externalUser],
  ['PATCH /users/external/{id}', 200, 'empty', plus(externalUser, () => ({ body: { org_id: 1 } }))],
  ['DELETE /users/external/{id}', 200, 'empty', externalUser],
  ['GET /users/me', 200, 'object', nothing],
  ['POST /endusers/{id}/:regenerate-password', 200, 'object', endUser],
  ['GET /endusers', 200, 'page', () => ({ query: 'usernames=a,b' })],
  ['POST /endusers', 200, 'object', () => ({ body: { user_name: 'someone', password: '' } })],
]);

const hiq = rows('HIQ context', [
  ['GET /hiq/context', 200, 'object', nothing],
  [
    'PUT /hiq/context',
    200,
    'empty',
    async (call) => {
      const id = await organization(call);
      return { body: { reading_org_ids: [id], creating_org_id: id } };
    },
  ],
  ['GET /hiq/context/creating', 200, 'value', nothing],
  ['PUT /hiq/context/creating', 200, 'empty', async (call) => ({ body: await organization(call) })],
  ['GET /hiq/context/reading', 200, 'array', nothing],
]);

const placedDevice: Prepare = async (call) => {
  const id = await onlineDevice(call);
  await call('PUT', `/devices/${id}/location`, { body: { location_id: await location(call) } });
  return { id };
};
const configuredDevice: Prepare = async (call) => {
  const id = await onlineDevice(call);
  await call('PUT', `/devices/${id}/network-policy?networkPolicyId=${(await policy(call)).id}`);
  return { id };
};
const onSsid = async (call: Call) => ({ ssid_id: await first('/ssids')(call) });

const deviceRows = rows('Devices', [
  ['GET /devices', 200, 'page', () => ({ query: 'views=basic,location&fields=hostname&async=false' })],
  [
    'POST /devices/:cli',
    200,
    'object',
    async (call) => ({ body: { devices: await devices(call), clis: ['show'] } }),
  ],
  ['POST /devices/:delete', 200, 'empty', listed],
  ['POST /devices/:manage', 200, 'empty', listed],
  ['POST /devices/:unmanage', 200, 'empty', listed],
  ['POST /devices/:onboard', 202, 'empty', () => ({ body: { extreme: { sns: ['12345678901234'] } } })],
  ['POST /devices/:reboot', 200, 'empty', listed],
  [
    'POST /devices/country-code/:assign',
    200,
    'empty',
    async (call) => ({ body: { devices: await devices(call), country_code: 276 } }),
  ],
  ['GET /devices/{id}', 200, 'object', plus(device, () => ({ query: 'views=full' }))],
  ['DELETE /devices/{id}', 200, 'empty', device],
  ['POST /devices/{id}/:cli', 200, 'object', plus(device, () => ({ body: ['show version'] }))],
  ['POST /devices/{id}/:manage', 200, 'empty', device],
  ['POST /devices/{id}/:unmanage', 200, 'empty', device],
  ['POST /devices/{id}/:reboot', 200, 'empty', device],
  ['POST /devices/{id}/:reset', 200, 'empty', device],
  ['GET /devices/{id}/alarms', 200, 'page', device],
  ['GET /devices/{id}/history/cpu-mem', 200, 'array', device],
  ['PUT /devices/{id}/hostname', 200, 'empty', plus(device, () => ({ query: 'hostname=renamed' }))],
  ['GET /devices/{id}/location', 200, 'object', placedDevice],
  [
    'PUT /devices/{id}/location',
    200,
    'empty',
    plus(device, async (call) => ({ body: { location_id: await location(call), x: 1, y: 2 } })),
  ],
  ['DELETE /devices/{id}/location', 200, 'empty', device],
  ['GET /devices/{id}/network-policy', 200, 'object', configuredDevice],
  [
    'PUT /devices/{id}/network-policy',
    200,
    'empty',
    plus(device, async (call) => ({ query: `networkPolicyId=${(await policy(call)).id}` })),
  ],
  ['DELETE /devices/{id}/network-policy', 200, 'empty', device],
  [
    'POST /devices/{id}/ssid/:override',
    200,
    'empty',
    plus(device, async (call) => ({ body: await onSsid(call) })),
  ],
  ['GET /devices/{id}/ssid/status', 200, 'object', device],
  [
    'POST /devices/{id}/ssid/status/:change',
    200,
    'empty',
    plus(device, async (call) => ({
      body: { ssid_ids: [(await onSsid(call)).ssid_id], if_names: ['WIFI0'], enabled: false },
    })),
  ],
  [
    'POST /devices/location/:assgin',
    200,
    'empty',
    async (call) => ({
      body: { devices: await devices(call), device_location: { location_id: await location(call) } },
    }),
  ],
  ['POST /devices/location/:query', 200, 'object', listed],
  ['POST /devices/location/:revoke', 200, 'empty', listed],
]);

const policies = rows('Network policy', [
  ['POST /network-policies', 201, 'object', () => ({ body: { name: 'new' } })],
  ['GET /network-policies/{id}', 200, 'object', policy],
  ['PUT /network-policies/{id}', 200, 'object', plus(policy, () => ({ body: { name: 'renamed' } }))],
  ['DELETE /network-policies/{id}', 200, 'empty', policy],
  ['GET /network-policies/{id}/ssids', 200, 'page', policy],
  ['GET /ssids', 200, 'page', nothing],
]);

const PUT_BODY = { name: 'kept', description: 'as given' };

/** A row whose resource keeps what it is given: PUT makes it, GET answers it, DELETE removes it. */
function keeping(path: string, methods: string, putShape: Shape = 'object') {
  const made: Prepare = async (call) => {
    await call('PUT', path.replace('{id}', '77'), { body: PUT_BODY });
    return { id: 77 };
  };
  return methods.split(' ').map((method) => {
    const shape = { GET: 'object', PUT: putShape, DELETE: 'empty' } as const satisfies Record<string, Shape>;
    const isPut = method === 'PUT';
    const answered = method === 'GET' ? shape.GET : isPut ? shape.PUT : shape.DELETE;
    return [`${method} ${path}`, 200, answered, isPut ? () => ({ id: 77, body: PUT_BODY }) : made] as const;
  });
}

const SCHEDULE = { ownerId: 1, folderId: 2, days: [] };
const mode = (name: string) =>
  [`PUT /ssids/{id}/mode/${name}`, 200, 'object', plus(ssid, () => ({ body: {} }))] as const;

const configuration = rows('Configuration resources', [
  ...keeping('/usergroups/{id}', 'PUT DELETE'),
  ...keeping('/user-profiles/{id}', 'GET PUT DELETE'),
  ...keeping('/tunnel-concentrators/{id}', 'GET PUT DELETE'),
  ...keeping('/tcap-profiles/{id}', 'GET PUT DELETE'),
  ['GET /third-party-api-connection', 200, 'array', nothing],
  ['PUT /third-party-api-connection', 200, 'object', () => ({ body: PUT_BODY })],
  ['DELETE /third-party-api-connection', 200, 'empty', nothing],
  ['POST /subscriptions/webhook', 200, 'array', () => ({ body: [subscription] })],
  ['PUT /subscriptions/webhook/{id}', 200, 'object', plus(webhook, () => ({ body: subscription }))],
  ['DELETE /subscriptions/webhook/{id}', 200, 'empty', webhook],
  ['PUT /ssids/{id}/psk/password', 200, 'object', plus(ssid, () => ({ body: 'a new pre-shared key' }))],
  mode('wep'),
  mode('psk'),
  mode('ppsk'),
  mode('dot1x'),
  ['PUT /ssids/{id}/mode/open', 200, 'object', ssid],
  ...keeping('/ssids/advanced-settings/{id}', 'GET PUT'),
  [
    'GET /site/afc/schedule',
    200,
    'object',
    async (call) => {
      await call('PUT', '/site/afc/schedule', { body: SCHEDULE });
      return { query: 'ownerId=1&folderId=2' };
    },
  ],
  ['PUT /site/afc/schedule', 200, 'empty', () => ({ body: SCHEDULE })],
  ['POST /site/afc/schedule', 200, 'empty', () => ({ body: SCHEDULE })],
  ...keeping('/radsec-proxies/{id}', 'GET PUT DELETE'),
  ...keeping('/radius-servers/internal/{id}', 'GET PUT DELETE'),
  ...keeping('/radius-servers/external/{id}', 'GET PUT DELETE', 'empty'),
  ...keeping('/radius-proxies/{id}', 'GET PUT DELETE'),
  ...keeping('/radius-client-objects/{id}', 'GET PUT DELETE', 'empty'),
  ...keeping('/radio-profiles/{id}', 'GET PUT DELETE'),
  ...keeping('/radio-profiles/wmm-qos/{id}', 'GET PUT'),
]);

const operations = rows('Asynchronous mode', [
  ['GET /operations/{operationId}', 200, 'object', anOperation],
  ['POST /operations/{operationId}/:cancel', 200, 'empty', anOperation],
  ['DELETE /operations/{operationId}', 200, 'empty', anOperation],
]);

/** The rows of the endpoint tables of the specification. */
export const SPECIFIED_ROWS: readonly EndpointRow[] = [
  ...operations,
  ...authentication,
  ...account,
  ...users,
  ...hiq,
  ...deviceRows,
  ...policies,
  ...configuration,
];

const AUDIT_SPAN = `startTime=${Date.now() - 3_600_000}&endTime=${Date.now() + 3_600_000}`;

/** What the emulator has beside them: published calls of the service, and its own. */
export const FURTHER_ROWS: readonly EndpointRow[] = [
  ...rows('published', [
    ['GET /subscriptions/webhook', 200, 'page', nothing],
    ['GET /clients/active', 200, 'page', () => ({ query: 'views=full' })],
    ['GET /clients/{id}', 200, 'object', async (call) => ({ id: await first('/clients/active')(call) })],
    ['GET /logs/audit', 200, 'page', () => ({ query: AUDIT_SPAN })],
    ['GET /logs/auth', 200, 'page', nothing],
    ['GET /logs/accounting', 200, 'page', nothing],
    ['GET /logs/credential', 200, 'page', nothing],
    ['GET /logs/email', 200, 'page', nothing],
    ['GET /logs/sms', 200, 'page', nothing],
  ]),
  ...open(
    rows('emulator', [
      ['GET /emulator/status', 200, 'object', nothing],
      ['POST /emulator/faults', 200, 'object', () => ({ body: { lose: 0 } })],
      ['DELETE /emulator/faults', 204, 'empty', nothing],
    ]),
  ),
];

/** The address of a call of a row. */
export function addressOf({ path }: EndpointRow, { id = '', query }: Request): string {
  return path.replace(/\{\w+\}/, String(id)) + (query === undefined ? '' : `?${query}`);
}
