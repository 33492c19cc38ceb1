import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { permissionCheckResponseSchema } from '../../src/cloud/contract/auth.ts';
import { expandPattern, grants, PERMISSION_NAMES } from '../access/permissions.ts';
import type { Call } from './harness.ts';
import { errorCode, startEmulator } from './harness.ts';

import * as fc from 'fast-check';

const anyPermission = fc.constantFrom(...PERMISSION_NAMES);

describe('a permission', () => {
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
});

describe('the permissions asked for', () => {
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
