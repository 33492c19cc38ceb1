import { CloudApiError } from './cloud-api-error.ts';
import { homeAccountSchema, viqInfoSchema, type HomeAccount, type ViqInfo } from './contract/account.ts';
import {
  createdApiTokenSchema,
  permissionCheckResponseSchema,
  permissionListSchema,
  tokenInfoSchema,
  type CreateApiTokenRequest,
  type CreatedApiToken,
  type Permission,
  type PermissionCheckRequest,
  type PermissionCheckResponse,
  type TokenInfo,
} from './contract/auth.ts';
import type { Call, OutgoingCall } from './exchange.ts';
import { readJson } from './json.ts';
import type { Request } from './request.ts';
import type { Secrets } from '../secrets.ts';

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

/** API tokens and permissions (specification, Authentication and authorization). */
export interface Authorization {
  /** Creates an API token, `expire_time` in epoch seconds at least 300 s ahead, null or absent for no end. */
  createApiToken(request: CreateApiTokenRequest, signal?: AbortSignal): Promise<CreatedApiToken>;
  /** The user, role and permissions of the client's own token. */
  tokenInfo(signal?: AbortSignal): Promise<TokenInfo>;
  /** Whether the cloud accepts a token. */
  validateToken(token: string, signal?: AbortSignal): Promise<boolean>;
  listPermissions(signal?: AbortSignal): Promise<Permission[]>;
  /** The permissions and roles that allow a call. */
  checkPermission(check: PermissionCheckRequest, signal?: AbortSignal): Promise<PermissionCheckResponse>;
}

interface AuthorizationOptions {
  request: Request<Call>;
  /** Sends calls without a token, which token validation requires. */
  anonymous: Request<OutgoingCall>;
  secrets: Secrets;
}

export function createAuthorization({ request, anonymous, secrets }: AuthorizationOptions): Authorization {
  return {
    async createApiToken(body, signal) {
      const answer = await request({ method: 'POST', path: '/auth/apitoken', json: body, signal });
      const created = readJson(createdApiTokenSchema, answer);
      secrets.add(created.access_token);
      return created;
    },
    async tokenInfo(signal) {
      return readJson(tokenInfoSchema, await request({ method: 'GET', path: '/auth/apitoken/info', signal }));
    },
    async validateToken(token, signal) {
      secrets.add(token);
      try {
        const at = '/auth/apitoken/:validate';
        await anonymous({ method: 'POST', path: at, text: token, repeatable: true, signal });
        return true;
      } catch (error) {
        // The status for a bad token is not documented; both of these concern the token.
        if (error instanceof CloudApiError && (error.status === 400 || error.status === 401)) return false;
        throw error;
      }
    },
    async listPermissions(signal) {
      return readJson(
        permissionListSchema,
        await request({ method: 'GET', path: '/auth/permissions', signal }),
      );
    },
    async checkPermission(check, signal) {
      const at = '/auth/permissions/:check';
      const answer = await request({ method: 'POST', path: at, json: check, repeatable: true, signal });
      return readJson(permissionCheckResponseSchema, answer);
    },
  };
}
