import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { permissionCheckResponseSchema } from '../../src/cloud/contract/auth.ts';
import { expandPattern, grants, PERMISSION_NAMES } from '../access/permissions.ts';
import type { Call } from './harness.ts';
import { createCall, errorCode, logIn, startEmulator } from './harness.ts';
import { permissionListSchema } from '../contract/auth.ts';

import * as fc from 'fast-check';

const anyPermission = fc.constantFrom(...PERMISSION_NAMES);

describe('a permission', () => {
  it('is of one name only', () => {
    expect(new Set(PERMISSION_NAMES).size).toBe(PERMISSION_NAMES.length);
  });

  it('without a suffix is full control of its kind', () => {
    expect(grants(['device'], ['device:r'])).toBe(true);
    expect(grants(['device'], ['device:cli'])).toBe(true);
    expect(grants(['hiq'], ['hiq.ctx:r'])).toBe(false);
  });

  it('that reads never lets write', () => {
    fc.assert(
      fc.property(anyPermission, anyPermission, (held, wanted) => {
        fc.pre(held.endsWith(':r') && held !== wanted);
        expect(grants([held], [wanted])).toBe(false);
      }),
    );
  });

  it('more never lets less through', () => {
    fc.assert(
      fc.property(fc.array(anyPermission), fc.array(anyPermission), anyPermission, (held, wanted, more) => {
        expect(grants([...held, more], [...wanted, more])).toBe(true);
        expect(grants([...held, more], wanted) || !grants(held, wanted)).toBe(true);
      }),
    );
  });
});

describe('a pattern of permissions', () => {
  it.each([
    ['device:r', ['device:r']],
    ['write*:ssid', ['ssid', 'ssid:r']],
    ['read*:ssid', ['ssid:r']],
    ['read*:hiq.ctx', ['hiq.ctx:r']],
    ['rmuser-external-*', ['rmuser-external-list', 'rmuser-external-info']],
    ['nonsense*', []],
    ['.*', []],
    ['write*:nonsense', []],
  ])('%s stands for %j', (pattern, names) => {
    expect(expandPattern(pattern)).toEqual(names);
  });

  it('* stands for all, and any pattern only for names that are known', () => {
    expect(expandPattern('*')).toEqual(PERMISSION_NAMES);
    fc.assert(
      fc.property(fc.string(), (pattern) => {
        for (const name of expandPattern(pattern)) expect(PERMISSION_NAMES).toContain(name);
      }),
    );
  });
});

const listSchema = z.object({ data: z.array(z.looseObject({ id: z.int() })) });

/** The body of a refusal that names the permissions of which one is missing. */
function denial(...permissions: string[]) {
  return {
    status: 403,
    body: {
      error_code: 'PERMISSION_DENIED',
      error_id: expect.any(String) as unknown,
      error_message: `This call needs one of the permissions ${permissions.join(', ')}`,
    },
  };
}

async function tokenWith(call: Call, permissions: string[]): Promise<string> {
  const answer = await call('POST', '/auth/apitoken', { body: { permissions } });
  return z.object({ access_token: z.string() }).parse(answer.body).access_token;
}

describe('a token limited to permissions', () => {
  it('reads and does not write with :r, does both with the full name', async () => {
    const { call } = await startEmulator();
    const reading = await tokenWith(call, ['subscriptions-webhook:r']);
    const full = await tokenWith(call, ['subscriptions-webhook']);
    const body = [{ application: 'a', url: 'http://127.0.0.1:9/', secret: 's', message_type: 'SMS_LOG_ALL' }];
    const path = '/subscriptions/webhook';
    const held = async (token: string) => listSchema.parse((await call('GET', path, { token })).body).data;
    expect(await call('POST', path, { token: reading, body })).toMatchObject(denial('subscriptions-webhook'));
    expect(await held(reading)).toEqual([]);
    expect(await call('POST', path, { token: full, body })).toMatchObject({ status: 200, body });
    expect(await held(full)).toMatchObject(body);
    expect(await held(reading)).toEqual(await held(full));
  });

  it('does what its wildcard stands for, and nothing else', async () => {
    const { call } = await startEmulator();
    const token = await tokenWith(call, ['write*:ssid']);
    const [ssid] = listSchema.parse((await call('GET', '/ssids', { token })).body).data;
    const opened = await call('PUT', `/ssids/${ssid?.id}/mode/open`, { token });
    expect(opened.body).toMatchObject({ id: ssid?.id, mode: 'open' });
    expect(listSchema.parse((await call('GET', '/ssids')).body).data[0]).toEqual(opened.body);
    expect(await call('GET', '/devices', { token })).toMatchObject(denial('device:list', 'device:r'));
    expect(await call('POST', '/logout', { token })).toMatchObject(denial('logout'));
    // The refused logout revoked nothing.
    expect((await call('GET', '/ssids', { token })).body).toMatchObject({ pagination: { total: 3 } });
  });
});

describe('the permissions asked for', () => {
  it('are listed with name, description and category', async () => {
    const { call } = await startEmulator();
    const permissions = permissionListSchema.parse((await call('GET', '/auth/permissions')).body);
    expect(permissions.map(({ name }) => name)).toEqual(PERMISSION_NAMES);
    for (const { description, category } of permissions) expect(description && category).toBeTruthy();
  });

  it.each([
    ['/subscriptions/webhook', 'post', ['subscriptions-webhook'], ['Administrator']],
    [
      '/subscriptions/webhook',
      'GET',
      ['subscriptions-webhook', 'subscriptions-webhook:r'],
      ['Administrator', 'Operator'],
    ],
    [
      'https://cloud.test/devices/5?views=full',
      'get',
      ['device', 'device:r', 'device:view'],
      ['Administrator', 'Operator'],
    ],
    ['/devices/{id}/:reset', 'post', ['device', 'device:reset'], ['Administrator']],
    ['/login', 'post', [], ['Administrator', 'Operator']],
  ])('for %s by %s are told with the roles', async (uri, method, names, roles) => {
    const { call } = await startEmulator();
    const answer = await call('POST', '/auth/permissions/:check', { body: { uri, method } });
    const { permissions, roles: told } = permissionCheckResponseSchema.parse(answer.body);
    expect(permissions.map(({ name }) => name)).toEqual(names);
    expect(told).toEqual(roles);
  });

  it('of an operation that does not exist are NOT_FOUND, with the operation named', async () => {
    const { call } = await startEmulator();
    const body = { uri: '/nothing', method: 'get' };
    expect(await call('POST', '/auth/permissions/:check', { body })).toMatchObject({
      status: 404,
      body: { error_code: 'NOT_FOUND', error_message: 'No operation get /nothing' },
    });
  });

  it('are sufficient and necessary: a token with any one of them may call, a token with all others may not', async () => {
    const { call } = await startEmulator();
    const calls = [
      ['GET', '/devices'],
      ['GET', '/users'],
      ['GET', '/hiq/context'],
      ['GET', '/account/viq'],
      ['GET', '/logs/sms'],
    ] as const;
    for (const [method, path] of calls) {
      const answer = await call('POST', '/auth/permissions/:check', { body: { uri: path, method } });
      const told = permissionCheckResponseSchema.parse(answer.body).permissions.map(({ name }) => name);
      const expected = await call(method, path);
      expect(expected.status).toBe(200);
      for (const name of told) {
        const { status, body } = await call(method, path, { token: await tokenWith(call, [name]) });
        expect({ status, body }).toEqual({ status: 200, body: expected.body });
      }
      const others = await tokenWith(
        call,
        PERMISSION_NAMES.filter((name) => !told.includes(name)),
      );
      const refused = await call(method, path, { token: others });
      expect([refused.status, errorCode(refused)]).toEqual([403, 'PERMISSION_DENIED']);
    }
  });
});

it('every permission a described operation asks for is one that exists', async () => {
  const { call } = await startEmulator();
  const security = z.object({
    paths: z.record(
      z.string(),
      z.record(z.string(), z.object({ security: z.array(z.object({ bearer: z.array(z.string()) })) })),
    ),
  });
  const { paths } = security.parse((await call('GET', '/openapi.json')).body);
  const asked = Object.values(paths).flatMap((methods) =>
    Object.values(methods).flatMap((operation) => operation.security.flatMap(({ bearer }) => bearer)),
  );
  expect(asked.filter((name) => !PERMISSION_NAMES.includes(name))).toEqual([]);
});

it('an operator may log out', async () => {
  const { url } = await startEmulator();
  const call = createCall(url, await logIn(url, 'operator'));
  expect(await call('POST', '/logout')).toMatchObject({ status: 200, text: '' });
  const after = await call('GET', '/users/me');
  expect([after.status, errorCode(after)]).toEqual([401, 'AUTH_TOKEN_REVOKED']);
});
