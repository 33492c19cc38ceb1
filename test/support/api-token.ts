import type { z } from 'zod';
import { EMULATOR_LOGINS } from '../../emulator/accounts.ts';
import { loginResponseSchema } from '../../src/cloud/contract/auth.ts';
import { createdApiTokenSchema } from '../../emulator/contract/auth.ts';

/** Creates an API token of the administrator at an emulator. */
export async function createApiToken(
  baseUrl: string,
  request: { readonly permissions?: readonly string[] | undefined; readonly expire_time?: number } = {},
): Promise<string> {
  const { username, password } = EMULATOR_LOGINS.administrator;
  const login = await post(`${baseUrl}/login`, loginResponseSchema, { username, password });
  const url = `${baseUrl}/auth/apitoken`;
  return (await post(url, createdApiTokenSchema, request, login.access_token)).access_token;
}

async function post<Schema extends z.ZodType>(url: string, schema: Schema, body: object, token?: string) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  return schema.parse(await response.json());
}
