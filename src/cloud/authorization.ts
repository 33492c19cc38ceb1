import { CloudApiError } from './cloud-api-error.ts';
import { createdApiTokenSchema, tokenInfoSchema } from './contract/api-token.ts';
import type { CreateApiTokenRequest, CreatedApiToken, TokenInfo } from './contract/api-token.ts';
import { permissionCheckResponseSchema, permissionListSchema } from './contract/permission.ts';
import type { Permission, PermissionCheckRequest, PermissionCheckResponse } from './contract/permission.ts';
import type { Call, OutgoingCall } from './exchange.ts';
import { readJson } from './read-json.ts';
import type { Request } from './request.ts';
import type { Secrets } from '../secrets.ts';

/** API tokens and permissions (specification, Authentication and authorization). */
export interface Authorization {
  /** Creates an API token, `expire_time` in epoch seconds at least 300 s ahead, null or absent for no end. */
  createApiToken(request: CreateApiTokenRequest, signal?: AbortSignal): Promise<CreatedApiToken>;
  /** Who the client's own token speaks for and what it may do. */
  tokenInfo(signal?: AbortSignal): Promise<TokenInfo>;
  /** Whether the cloud accepts a token. */
  validateToken(token: string, signal?: AbortSignal): Promise<boolean>;
  listPermissions(signal?: AbortSignal): Promise<Permission[]>;
  /** Which permissions and which roles allow a call. */
  checkPermission(check: PermissionCheckRequest, signal?: AbortSignal): Promise<PermissionCheckResponse>;
}

interface AuthorizationOptions {
  request: Request<Call>;
  /** Sends calls without a token, as token validation wants it. */
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
        // Which status answers a bad token is not documented; these two both speak about the token.
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
