import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { permissionCheckResponseSchema, permissionListSchema } from '../../src/cloud/contract/permission.ts';
import { expandPattern, grants, PERMISSION_NAMES } from '../access/permissions.ts';
import type { Call } from './harness.ts';
import { createCall, logIn, startEmulator } from './harness.ts';

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
    expect((await call('GET', path, { token: reading })).status).toBe(200);
    expect((await call('POST', path, { token: reading, body })).status).toBe(403);
    expect((await call('GET', path, { token: full })).status).toBe(200);
    expect((await call('POST', path, { token: full, body })).status).toBe(200);
  });

  it('does what its wildcard stands for, and nothing else', async () => {
    const { call } = await startEmulator();
    const token = await tokenWith(call, ['write*:ssid']);
    expect((await call('GET', '/ssids', { token })).status).toBe(200);
    expect((await call('PUT', '/ssids/1/mode/open', { token })).status).toBe(404);
    expect((await call('GET', '/devices', { token })).status).toBe(403);
    expect((await call('POST', '/logout', { token })).status).toBe(403);
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

  it('for an operation that is not there answer 404', async () => {
    const { call } = await startEmulator();
    const body = { uri: '/nothing', method: 'get' };
    expect((await call('POST', '/auth/permissions/:check', { body })).status).toBe(404);
  });

  it('are enough and needed: a token with one of those told may call, a token with all others may not', async () => {
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
      for (const name of told) {
        expect((await call(method, path, { token: await tokenWith(call, [name]) })).status).toBe(200);
      }
      const others = await tokenWith(
        call,
        PERMISSION_NAMES.filter((name) => !told.includes(name)),
      );
      expect((await call(method, path, { token: others })).status).toBe(403);
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
  expect((await call('POST', '/logout')).status).toBe(200);
});
