import { z } from 'zod';
import type { Call } from './call.ts';
import { idsOf, onlineDevice } from './call.ts';

/** What a call of a row is made of. */
export interface Request {
  /** Where the path has parameters: what stands there. */
  id?: number | string | readonly (number | string)[];
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
  /** Makes what the call needs and says how to call. */
  request: (call: Call) => Request | Promise<Request>;
  /** Calls without a token are not refused. */
  isOpen?: true;
}

/** Makes what a call needs and says how to call. */
export type Prepare = EndpointRow['request'];

/** A call that needs nothing. */
export const nothing: Prepare = () => ({});
/** On a device that is online. */
export const device: Prepare = async (call) => ({ id: await onlineDevice(call) });
/** The identifier of the first of a list. */
export const first = (path: string) => async (call: Call) => (await idsOf(call, path))[0] ?? '';
/** A list of two devices, as bodies name it. */
export const devices = async (call: Call) => ({ ids: (await idsOf(call, '/devices')).slice(0, 2) });
/** With two devices in the body. */
export const listed: Prepare = async (call) => ({ body: await devices(call) });

async function created(call: Call, path: string, body: unknown): Promise<number | string> {
  const answer = await call('POST', path, { body });
  const schema = z.union([z.object({ id: z.int() }), z.array(z.object({ id: z.int() })).min(1)]);
  return [schema.parse(answer.body)].flat()[0]?.id ?? '';
}

/** The body of a user that nobody else is. */
export const newUser = () => ({ login_name: `new-${crypto.randomUUID()}@emulator.test` });
/** On a user of its own. */
export const user: Prepare = async (call) => ({ id: await created(call, '/users', newUser()) });
/** On an external user of its own. */
export const externalUser: Prepare = async (call) => ({
  id: await created(call, '/users/external', newUser()),
});
/** On an end user of its own. */
export const endUser: Prepare = async (call) => ({
  id: await created(call, '/endusers', { user_name: 'new' }),
});
/** On a network policy of its own. */
export const policy: Prepare = async (call) => ({
  id: await created(call, '/network-policies', { name: 'new' }),
});
/** On an SSID. */
export const ssid: Prepare = async (call) => ({ id: await first('/ssids')(call) });

/** A subscription that nothing is sent to. */
export const subscription = {
  application: 'test',
  url: 'http://127.0.0.1:9/',
  secret: 's',
  message_type: 'AUDIT_LOG_ALL',
  status: 'DISABLED',
};
/** On a webhook subscription of its own, which is the newest. */
export const webhook: Prepare = async (call) => {
  await call('POST', '/subscriptions/webhook', { body: [subscription] });
  return { id: (await idsOf(call, '/subscriptions/webhook')).at(-1) ?? '' };
};

async function operation(call: Call): Promise<string> {
  const answer = await call('GET', '/devices?async=true');
  return new URL(answer.headers.get('location') ?? '').pathname.split('/').at(-1) ?? '';
}
/** On a long-running operation of its own. */
export const anOperation: Prepare = async (call) => ({ id: await operation(call) });

/** A location that some device is in. */
export async function location(call: Call): Promise<number> {
  for (const id of await idsOf(call, '/devices')) {
    const { status, body } = await call('GET', `/devices/${id}/location`);
    if (status === 200) return z.object({ location_id: z.int() }).parse(body).location_id;
  }
  throw new Error('No device has a location');
}

/** The organization that new data goes to. */
export async function organization(call: Call): Promise<number> {
  return z.int().parse((await call('GET', '/hiq/context/creating')).body);
}

/** A preparation with more to send. */
export function plus(prepare: Prepare, more: (call: Call) => Request | Promise<Request>): Prepare {
  return async (call) => ({ ...(await prepare(call)), ...(await more(call)) });
}

/** The rows of one table: method and path, status, preparation. */
export function rows(table: string, list: readonly (readonly [string, number, Prepare])[]): EndpointRow[] {
  return list.map(([operationName, status, request]) => {
    const [method = '', path = ''] = operationName.split(' ');
    return { table, method, path, status, request };
  });
}

/** Rows that need no token. */
export const open = (list: EndpointRow[]): EndpointRow[] => list.map((row) => ({ ...row, isOpen: true }));

/** The address of a call of a row. */
export function addressOf({ path }: EndpointRow, { id = '', query }: Request): string {
  const ids = [id].flat();
  const filled = path.replaceAll(/\{\w+\}/g, () => String(ids.length > 1 ? ids.shift() : ids[0]));
  return filled + (query === undefined ? '' : `?${query}`);
}
