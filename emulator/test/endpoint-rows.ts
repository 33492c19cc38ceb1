import { z } from 'zod';
import { alertRows, SPAN } from './alert-rows.ts';
import { deviceRows, policyRows } from './device-rows.ts';
import {
  anOperation,
  endUser,
  externalUser,
  first,
  newUser,
  nothing,
  open,
  organization,
  plus,
  rows,
  ssid,
  subscription,
  user,
  webhook,
} from './endpoint-row.ts';
import type { Call } from './call.ts';
import type { EndpointRow, Prepare } from './endpoint-row.ts';

const LOGIN = { username: 'admin@emulator.test', password: 'emulated-admin' };

const authentication = [
  ...open(
    rows('Authentication and authorization', [
      ['POST /login', 200, () => ({ body: LOGIN })],
      [
        'POST /auth/apitoken/:validate',
        200,
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
    ['POST /logout', 200, nothing],
    [
      'POST /auth/apitoken',
      200,
      () => ({ body: { permissions: ['device:r'], description: 'test', expire_time: null } }),
    ],
    ['GET /auth/apitoken/info', 200, nothing],
    ['GET /auth/permissions', 200, nothing],
    ['POST /auth/permissions/:check', 200, () => ({ body: { uri: '/devices', method: 'get' } })],
  ]),
];

const account = rows('Account', [
  [
    'POST /account/:switch',
    200,
    async (call) => {
      const home = await call('GET', '/account/home');
      return { query: `id=${z.object({ id: z.int() }).parse(home.body).id}` };
    },
  ],
  ['GET /account/external', 200, nothing],
  ['GET /account/home', 200, nothing],
  ['GET /account/viq', 200, nothing],
  ['POST /account/viq/:backup', 202, nothing],
  ['PUT /v1/account/viq/default-device-password', 200, () => ({ body: 'Secret-123' })],
]);

const users = rows('Users', [
  ['GET /users', 200, nothing],
  ['POST /users', 201, () => ({ body: newUser() })],
  ['GET /users/{id}', 200, user],
  ['PATCH /users/{id}', 200, plus(user, () => ({ body: { display_name: 'Changed' } }))],
  ['DELETE /users/{id}', 200, user],
  ['GET /users/external', 200, nothing],
  ['POST /users/external', 200, () => ({ body: newUser() })],
  ['GET /users/external/{id}', 200, externalUser],
  ['PATCH /users/external/{id}', 200, plus(externalUser, () => ({ body: { org_id: 1 } }))],
  ['DELETE /users/external/{id}', 200, externalUser],
  ['GET /users/me', 200, nothing],
  ['POST /endusers/{id}/:regenerate-password', 200, endUser],
  ['GET /endusers', 200, () => ({ query: 'usernames=a,b' })],
  ['POST /endusers', 200, () => ({ body: { user_name: 'someone', password: '' } })],
]);

const hiq = rows('HIQ context', [
  ['GET /hiq/context', 200, nothing],
  [
    'PUT /hiq/context',
    200,
    async (call) => {
      const id = await organization(call);
      return { body: { reading_org_ids: [id], creating_org_id: id } };
    },
  ],
  ['GET /hiq/organizations', 200, nothing],
  ['GET /hiq/context/creating', 200, nothing],
  ['PUT /hiq/context/creating', 200, async (call) => ({ body: await organization(call) })],
  ['GET /hiq/context/reading', 200, nothing],
]);

const PUT_BODY = { name: 'kept', description: 'as given' };

/** A row whose resource keeps what it is given: PUT makes it, GET answers it, DELETE removes it. */
function keeping(path: string, methods: string) {
  const made: Prepare = async (call) => {
    await call('PUT', path.replace('{id}', '77'), { body: PUT_BODY });
    return { id: 77 };
  };
  return methods.split(' ').map((method) => {
    const prepare = method === 'PUT' ? () => ({ id: 77, body: PUT_BODY }) : made;
    return [`${method} ${path}`, 200, prepare] as const;
  });
}

const SCHEDULE = { ownerId: 1, folderId: 2, days: [] };
const mode = (name: string) =>
  [`PUT /ssids/{id}/mode/${name}`, 200, plus(ssid, () => ({ body: {} }))] as const;

const configuration = rows('Configuration resources', [
  ...keeping('/usergroups/{id}', 'PUT DELETE'),
  ...keeping('/user-profiles/{id}', 'GET PUT DELETE'),
  ...keeping('/tunnel-concentrators/{id}', 'GET PUT DELETE'),
  ...keeping('/tcap-profiles/{id}', 'GET PUT DELETE'),
  ['GET /third-party-api-connection', 200, nothing],
  ['PUT /third-party-api-connection', 200, () => ({ body: PUT_BODY })],
  ['DELETE /third-party-api-connection', 200, nothing],
  ['POST /subscriptions/webhook', 200, () => ({ body: [subscription] })],
  ['PUT /subscriptions/webhook/{id}', 200, plus(webhook, () => ({ body: subscription }))],
  ['DELETE /subscriptions/webhook/{id}', 200, webhook],
  ['PUT /ssids/{id}/psk/password', 200, plus(ssid, () => ({ body: 'a new pre-shared key' }))],
  mode('wep'),
  mode('psk'),
  mode('ppsk'),
  mode('dot1x'),
  ['PUT /ssids/{id}/mode/open', 200, ssid],
  ...keeping('/ssids/advanced-settings/{id}', 'GET PUT'),
  ...keeping('/radio-profiles/sensor-scan/{id}', 'GET PUT'),
  [
    'GET /site/afc/schedule',
    200,
    async (call) => {
      await call('PUT', '/site/afc/schedule', { body: SCHEDULE });
      return { query: 'ownerId=1&folderId=2' };
    },
  ],
  ['PUT /site/afc/schedule', 200, () => ({ body: SCHEDULE })],
  ['POST /site/afc/schedule', 200, () => ({ body: SCHEDULE })],
  ...keeping('/radsec-proxies/{id}', 'GET PUT DELETE'),
  ...keeping('/radius-servers/internal/{id}', 'GET PUT DELETE'),
  ...keeping('/radius-servers/external/{id}', 'GET PUT DELETE'),
  ...keeping('/radius-proxies/{id}', 'GET PUT DELETE'),
  ...keeping('/radius-client-objects/{id}', 'GET PUT DELETE'),
  ...keeping('/radio-profiles/{id}', 'GET PUT DELETE'),
  ...keeping('/radio-profiles/wmm-qos/{id}', 'GET PUT'),
]);

const operations = rows('Asynchronous mode', [
  ['GET /operations/{operationId}', 200, anOperation],
  ['POST /operations/{operationId}/:cancel', 200, anOperation],
  ['DELETE /operations/{operationId}', 200, anOperation],
]);

/** The rows of the endpoint tables of the specification. */

/** The rows of the endpoint tables of the specification. */
export const SPECIFIED_ROWS: readonly EndpointRow[] = [
  ...operations,
  ...authentication,
  ...account,
  ...users,
  ...hiq,
  ...deviceRows,
  ...policyRows,
  ...configuration,
];

/** On the whole description of an audit record. One event in ten or so has one. */
const fullDescription: Prepare = async (call) => {
  await call('POST', '/emulator/events', { body: { type: 'AUDIT_LOG_ALL', count: 100 } });
  const answer = await call('GET', `/logs/audit?limit=100&order=DESC&${SPAN}`);
  const records = z.object({ data: z.array(z.object({ full_description_id: z.int().nullish() })) });
  const ids = records.parse(answer.body).data.map(({ full_description_id: id }) => id);
  return { id: ids.find((id) => typeof id === 'number') ?? '' };
};

/** A building with its floors. */
async function building(call: Call) {
  const floor = z.object({ id: z.int() });
  const buildings = z.array(floor.extend({ children: z.array(floor) })).min(1);
  const [campus] = z
    .tuple([z.object({ children: buildings })])
    .parse((await call('GET', '/locations/tree')).body);
  return z.tuple([buildings.element], buildings.element).parse(campus.children)[0];
}

/** What the emulator has beside them: published calls of the service, and its own. */
export const FURTHER_ROWS: readonly EndpointRow[] = [
  ...alertRows,
  ...rows('published', [
    ['GET /subscriptions/webhook', 200, nothing],
    [
      'DELETE /subscriptions/webhook/:delete',
      200,
      async (call) => ({ query: `ids=${String((await webhook(call)).id)}` }),
    ],
    ['GET /locations/tree', 200, nothing],
    [
      'PUT /locations/building/{id}',
      200,
      async (call) => ({ id: (await building(call)).id, body: { name: 'Main building' } }),
    ],
    [
      'PUT /locations/floor/{id}',
      200,
      async (call) => ({ id: (await building(call)).children[0]?.id ?? '', body: { name: 'Ground floor' } }),
    ],
    ['GET /clients/active', 200, () => ({ query: 'views=full' })],
    ['GET /clients/{id}', 200, async (call) => ({ id: await first('/clients/active')(call) })],
    ['GET /logs/audit', 200, () => ({ query: SPAN })],
    ['GET /logs/audit/full-descriptions/{id}', 200, fullDescription],
    ['GET /logs/auth', 200, nothing],
    ['GET /logs/accounting', 200, nothing],
    ['GET /logs/credential', 200, nothing],
    ['GET /logs/email', 200, nothing],
    ['GET /logs/sms', 200, nothing],
    ['PUT /hiq/context/reading', 200, async (call) => ({ body: [await organization(call)] })],
  ]),
  ...open(
    rows('emulator', [
      ['GET /emulator/status', 200, nothing],
      ['POST /emulator/faults', 200, () => ({ body: { lose: 0 } })],
      ['DELETE /emulator/faults', 204, nothing],
      ['POST /emulator/events', 204, () => ({ body: { type: 'ALERT', count: 1 } })],
    ]),
  ),
];
