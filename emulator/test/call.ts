import { z } from 'zod';
import { EMULATOR_LOGINS } from '../accounts.ts';

/** An answer of the emulator; `body` is its JSON, undefined where it has none. */
export interface Answered {
  status: number;
  headers: Headers;
  text: string;
  body: unknown;
}

interface CallOptions {
  token?: string | undefined;
  body?: unknown;
  /** Sent as it is, in place of `body`. */
  raw?: string;
  headers?: Record<string, string>;
}

export type Call = (method: string, path: string, options?: CallOptions) => Promise<Answered>;

/** A client without any help, for one base address; sends `token` with every call that names no other. */
export function createCall(url: string, token?: string): Call {
  return async (method, path, options = {}) => {
    const { body, raw = body === undefined ? undefined : JSON.stringify(body), headers = {} } = options;
    const bearer = 'token' in options ? options.token : token;
    const response = await fetch(path.startsWith('http') ? path : url + path, {
      method,
      headers: {
        ...(raw === undefined ? {} : { 'content-type': 'application/json' }),
        ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        ...headers,
      },
      ...(raw === undefined ? {} : { body: raw }),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, text, body: parsed };
  };
}

/** A fresh token of one of the two accounts. */
export async function logIn(url: string, who: keyof typeof EMULATOR_LOGINS): Promise<string> {
  const { username, password } = EMULATOR_LOGINS[who];
  const answer = await createCall(url)('POST', '/login', { body: { username, password } });
  return z.object({ access_token: z.string() }).parse(answer.body).access_token;
}

const page = z.object({ data: z.array(z.looseObject({ id: z.union([z.int(), z.string()]) })) });

/** A list in any dialect: a page, or an array of pages. */
const list = z.union([page, z.tuple([page]).transform(([first]) => first)]);

/** A list, up to 100 items of it. The specification has the identifier only where it is asked for. */
async function listOf(call: Call, path: string, fields: string): Promise<Answered> {
  const specified = await call('GET', `${path}?limit=100&fields=${fields}`);
  return specified.status === 422 ? await call('GET', `${path}?limit=100`) : specified;
}

/** The identifiers of a list. */
export async function idsOf(call: Call, path: string): Promise<(number | string)[]> {
  const answer = await listOf(call, path, 'id');
  return list.parse(answer.body).data.map(({ id }) => id);
}

/** A device that is online. */
export async function onlineDevice(call: Call): Promise<number> {
  const answer = await listOf(call, '/devices', 'id,connected');
  const devices = z.object({ data: z.array(z.object({ id: z.int(), connected: z.boolean() })) });
  const online = devices.parse(answer.body).data.find(({ connected }) => connected);
  return z.int().parse(online?.id);
}
