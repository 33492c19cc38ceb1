import { z } from 'zod';
import { homeAccountSchema, viqInfoSchema } from '../../src/cloud/contract/account.ts';
import { loginResponseSchema } from '../../src/cloud/contract/auth.ts';
import { found, ApiError, badRequest } from '../http/errors.ts';
import { digitsOf, int64, int64Path } from '../http/int64.ts';
import type { Int64 } from '../http/int64.ts';
import { array, empty, noInput, object, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { timestamp } from '../world/seeding.ts';
import { loginAnswer } from './auth.ts';
import type { Tokens } from '../access/tokens.ts';
import type { World } from '../world/world.ts';

/** The specification does not state the rule for device passwords. This one is ours. */
const devicePassword = z
  .string()
  .regex(
    /^(?=.*[A-Za-z])(?=.*\d).{8,32}$/,
    'must have 8 to 32 characters, with at least one letter and one digit',
  );

interface AccountNeeds {
  world: World;
  tokens: Tokens;
  clock: Clock;
  /** Whether the account has the HIQ feature. */
  isHiq: boolean;
}

/** Specification, Account. */
export function accountRoutes({ world, tokens, clock, isHiq }: AccountNeeds): Route[] {
  const { account } = world;
  const since = timestamp(clock.now());
  const externalAccount = {
    id: world.nextId(),
    create_time: since,
    update_time: since,
    name: 'Partner Networks',
    alias: 'partner',
    active: true,
    data_center: account.dataCenter,
  };
  const switchTargets = new Map([account.ownerId, externalAccount.id].map((id) => [String(id), id]));

  return [
    route('POST', '/account/:switch', 'Switch to another account', {
      access: ['account:switch'],
      input: z.object({ query: z.object({ id: int64Path }) }),
      success: object(loginResponseSchema),
      handle: ({ query: { id } }, { user }) =>
        loginAnswer(tokens, user, found(switchTargets.get(id), 'account', id)),
    }),
    route('GET', '/account/external', 'List external accounts that the caller can switch to', {
      access: ['account:external'],
      input: noInput,
      success: array(homeAccountSchema),
      handle: () => [externalAccount],
    }),
    route('GET', '/account/home', 'Get the home account', {
      access: ['account:home'],
      input: noInput,
      success: object(homeAccountSchema),
      handle: () => ({
        id: account.ownerId,
        create_time: since,
        update_time: since,
        name: account.name,
        account_type: 'HIQ',
        account_mode: 'CONNECT',
        quota: '7500;w=3600',
        data_center: account.dataCenter,
      }),
    }),
    route('GET', '/account/viq', 'Get the virtual instance of the account', {
      access: ['viq:get-account-info'],
      input: noInput,
      success: object(viqInfoSchema),
      handle: (_, { ownerId }) => ({
        devices: ownerId === account.ownerId ? world.devices.size : 0,
        standalone: !isHiq,
        expired: false,
        customer_id: String(account.customerId),
        vhm_id: account.vhmId,
        owner_id: ownerId,
        licenses: [],
      }),
    }),
    route('POST', '/account/viq/:backup', 'Back up the virtual instance', {
      access: ['viq:backup'],
      input: noInput,
      success: empty(202),
      handle: () => undefined,
    }),
    route('PUT', '/v1/account/viq/default-device-password', 'Set the default password of devices', {
      access: ['viq:update-default-device-password-v1', 'viq:update-default-device-password'],
      input: z.object({ body: devicePassword }),
      handle: () => undefined,
    }),
  ];
}

const contextSchema = z.object({ reading_org_ids: z.array(int64), creating_org_id: int64 });

const organizationSchema = z.looseObject({ id: int64, name: z.string() });

interface HiqNeeds {
  world: World;
  /** Whether the account has the HIQ feature. Without it, all these calls are denied. */
  isHiq: boolean;
}

/** Specification, HIQ context. */
export function hiqRoutes({ world: { account }, isHiq }: HiqNeeds): Route[] {
  function requireHiq(): void {
    if (!isHiq) throw new ApiError(403, 'PERMISSION_DENIED', 'This account does not have the HIQ feature');
  }

  function organization(id: Int64): number {
    const known = account.organizations.find((candidate) => candidate.id === id);
    if (known === undefined) throw badRequest(`body: no organization ${digitsOf(id)}`);
    return known.id;
  }

  function read<T>(value: () => T): () => T {
    return () => {
      requireHiq();
      return value();
    };
  }

  return [
    route('GET', '/hiq/context', 'Get the organizations to read from and to create in', {
      access: ['hiq.ctx:r', 'hiq:r'],
      input: noInput,
      success: object(contextSchema),
      handle: read(() => ({
        reading_org_ids: account.readingOrgIds,
        creating_org_id: account.creatingOrgId,
      })),
    }),
    route('PUT', '/hiq/context', 'Set the organizations to read from and to create in', {
      access: ['hiq.ctx:w', 'hiq'],
      input: z.object({ body: contextSchema }),
      handle({ body }) {
        requireHiq();
        const reading = body.reading_org_ids.map(organization);
        account.creatingOrgId = organization(body.creating_org_id);
        account.readingOrgIds = reading;
      },
    }),
    route('GET', '/hiq/organizations', 'List the organizations', {
      access: ['org', 'hiq:r'],
      input: noInput,
      success: array(organizationSchema),
      handle: read(() => [...account.organizations]),
    }),
    route('GET', '/hiq/context/creating', 'Get the organization to create in', {
      access: ['hiq.ctx:r', 'hiq:r'],
      input: noInput,
      success: object(int64),
      handle: read(() => account.creatingOrgId),
    }),
    route('PUT', '/hiq/context/creating', 'Set the organization to create in', {
      access: ['hiq.ctx:w', 'hiq'],
      input: z.object({ body: int64 }),
      handle({ body }) {
        requireHiq();
        account.creatingOrgId = organization(body);
      },
    }),
    route('GET', '/hiq/context/reading', 'Get the organizations to read from', {
      access: ['hiq.ctx:r', 'hiq:r'],
      input: noInput,
      success: array(int64),
      handle: read(() => account.readingOrgIds),
    }),
    route('PUT', '/hiq/context/reading', 'Set the organizations to read from; an empty list means all', {
      access: ['hiq.ctx:w', 'hiq'],
      input: z.object({ body: z.array(int64) }),
      handle({ body }) {
        requireHiq();
        account.readingOrgIds = body.map(organization);
      },
    }),
  ];
}
