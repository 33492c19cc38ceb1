import { createCall, logIn } from '../../emulator/test/call.ts';
import { createdApiTokenSchema } from '../../emulator/contract/auth.ts';

/** Creates an API token of the administrator at an emulator. */
export async function createApiToken(
  baseUrl: string,
  body: { readonly permissions?: readonly string[] | undefined; readonly expire_time?: number } = {},
): Promise<string> {
  const call = createCall(baseUrl, await logIn(baseUrl, 'administrator'));
  const answer = await call('POST', '/auth/apitoken', { body });
  return createdApiTokenSchema.parse(answer.body).access_token;
}
