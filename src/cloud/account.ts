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
export interface Account {
  home(signal?: AbortSignal): Promise<HomeAccount>;
  viq(signal?: AbortSignal): Promise<ViqInfo>;
}

export function createAccount(request: Request<Call>): Account {
  return {
    home: async (signal) =>
      readJson(homeAccountSchema, await request({ method: 'GET', path: '/account/home', signal })),
    viq: async (signal) =>
      readJson(viqInfoSchema, await request({ method: 'GET', path: '/account/viq', signal })),
  };
}

/** What the client's own token may do (specification, Authentication and authorization). */
export interface Authorization {
  /** The user, role and permissions of the client's own token. */
  tokenInfo(signal?: AbortSignal): Promise<TokenInfo>;
  /** The permissions and roles that allow a call. */
  checkPermission(check: PermissionCheckRequest, signal?: AbortSignal): Promise<PermissionCheckResponse>;
}

export function createAuthorization(request: Request<Call>): Authorization {
  return {
    async tokenInfo(signal) {
      return readJson(tokenInfoSchema, await request({ method: 'GET', path: '/auth/apitoken/info', signal }));
    },
    async checkPermission(check, signal) {
      const at = '/auth/permissions/:check';
      const answer = await request({ method: 'POST', path: at, json: check, repeatable: true, signal });
      return readJson(permissionCheckResponseSchema, answer);
    },
  };
}
