import { z } from 'zod';
import { homeAccountSchema, viqInfoSchema } from '../src/cloud/contract/account.ts';
import { loginResponseSchema } from '../src/cloud/contract/auth.ts';
import { found } from './api-error.ts';
import { exactNumber, int64Path } from './int64.ts';
import { array, empty, noInput, object, route } from './route.ts';
import type { Route } from './route.ts';
import { loginAnswer } from './routes-auth.ts';
import type { Tokens } from './tokens.ts';
import type { World } from './world.ts';

/** The rule for a device password is not stated; this one is ours. */
const devicePassword = z
  .string()
  .regex(/^(?=.*[A-Za-z])(?=.*\d).{8,32}$/, 'expected 8 to 32 characters, a letter and a digit among them');

/** Specification, Account. */
export function accountRoutes({ world, tokens }: { world: World; tokens: Tokens }): Route[] {
  const tag = 'Account';
  const { account } = world;
  const externalAccount = {
    id: world.nextId(),
    name: 'Partner Networks',
    alias: 'partner',
    active: true,
    data_center: account.dataCenter,
  };
  const switchTargets = new Set([account.ownerId, externalAccount.id].map(String));

  return [
    route({
      method: 'POST',
      path: '/account/:switch',
      tag,
      summary: 'Switch to another account',
      access: ['account:switch'],
      input: z.object({ query: z.object({ id: int64Path }) }),
      success: object(loginResponseSchema),
      handle({ query: { id } }, { user }) {
        found(switchTargets.has(id) ? exactNumber(id) : undefined, 'account', id);
        return loginAnswer(tokens, user);
      },
    }),
    route({
      method: 'GET',
      path: '/account/external',
      tag,
      summary: 'Accounts of others that the caller can switch to',
      access: ['account:external'],
      input: noInput,
      success: array(homeAccountSchema),
      handle: () => [externalAccount],
    }),
    route({
      method: 'GET',
      path: '/account/home',
      tag,
      summary: 'The home account',
      access: ['account:home'],
      input: noInput,
      success: object(homeAccountSchema),
      handle: () => ({
        id: account.ownerId,
        name: account.name,
        account_type: 'HIQ',
        account_mode: 'CONNECT',
        quota: '7500;w=3600',
        data_center: account.dataCenter,
      }),
    }),
    route({
      method: 'GET',
      path: '/account/viq',
      tag,
      summary: 'The virtual instance of the account',
      access: ['viq:get-account-info'],
      input: noInput,
      success: object(viqInfoSchema),
      handle: () => ({
        devices: world.devices.size,
        standalone: false,
        expired: false,
        customer_id: String(account.customerId),
        vhm_id: account.vhmId,
        owner_id: account.ownerId,
        licenses: [],
      }),
    }),
    route({
      method: 'POST',
      path: '/account/viq/:backup',
      tag,
      summary: 'Back up the virtual instance',
      access: ['viq:backup'],
      input: noInput,
      success: empty(202),
      handle: () => undefined,
    }),
    route({
      method: 'PUT',
      path: '/v1/account/viq/default-device-password',
      tag,
      summary: 'Set the default password of device consoles',
      access: ['viq:update-default-device-password-v1', 'viq:update-default-device-password'],
      input: z.object({ body: devicePassword }),
      success: empty(),
      handle: () => undefined,
    }),
  ];
}
