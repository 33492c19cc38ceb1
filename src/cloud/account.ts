import { homeAccountSchema, viqInfoSchema, type HomeAccount, type ViqInfo } from './contract/account.ts';
import {
  permissionCheckResponseSchema,
  tokenInfoSchema,
  type PermissionCheckRequest,
  type PermissionCheckResponse,
  type TokenInfo,
} from './contract/auth.ts';
import type { Call } from './exchange.ts';
import { readJson } from './json.ts';
import type { Request } from './request.ts';

/** The account that the credentials belong to. */
export function createAccount(request: Request<Call>) {
  return {
    home: async (signal?: AbortSignal): Promise<HomeAccount> =>
      readJson(homeAccountSchema, await request({ method: 'GET', path: '/account/home', signal })),
    viq: async (signal?: AbortSignal): Promise<ViqInfo> =>
      readJson(viqInfoSchema, await request({ method: 'GET', path: '/account/viq', signal })),
  };
}

/** What the client's own token may do (specification, Authentication and authorization). */
export function createAuthorization(request: Request<Call>) {
  return {
    /** The user, role and permissions of the client's own token. */
    tokenInfo: async (signal?: AbortSignal): Promise<TokenInfo> =>
      readJson(tokenInfoSchema, await request({ method: 'GET', path: '/auth/apitoken/info', signal })),
    /** The permissions and roles that allow a call. */
    async checkPermission(
      check: PermissionCheckRequest,
      signal?: AbortSignal,
    ): Promise<PermissionCheckResponse> {
      const at = '/auth/permissions/:check';
      const answer = await request({ method: 'POST', path: at, json: check, repeatable: true, signal });
      return readJson(permissionCheckResponseSchema, answer);
    },
  };
}
