import { homeAccountSchema, viqInfoSchema } from './contract/account.ts';
import type { HomeAccount, ViqInfo } from './contract/account.ts';
import type { Call } from './exchange.ts';
import { readJson } from './read-json.ts';
import type { Request } from './request.ts';

/** Whose account the credentials belong to. */
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
