import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readJwt, signJwt } from '../access/tokens.ts';
import { tokenInfoSchema } from '../../src/cloud/contract/auth.ts';
import { errorCode, logIn, manualClock, startEmulator } from './harness.ts';
import type { Call } from './harness.ts';
import { createdApiTokenSchema } from '../contract/auth.ts';

import * as fc from 'fast-check';

async function apiToken(call: Call, body: unknown) {
  const answer = await call('POST', '/auth/apitoken', { body });
  expect(answer).toMatchObject({ status: 200 });
  return createdApiTokenSchema.parse(answer.body);
}

describe('a login', () => {
  it('gives a JWT of the documented claims and lifetime', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    const body = { username: 'operator@emulator.test', password: 'emulated-operator' };
    const answer = await call('POST', '/login', { body });
    const login = z
      .strictObject({
        access_token: z.jwt({ alg: 'HS256' }),
        token_type: z.literal('Bearer'),
        expires_in: z.literal(86_400),
      })
      .parse(answer.body);
    const payload = Buffer.from(login.access_token.split('.')[1] ?? '', 'base64url').toString();
    const claims = z.looseObject({
      sub: z.literal(body.username),
      role: z.literal('Operator'),
      user_id: z.int(),
      customer_id: z.int(),
      owner_id: z.int(),
      org_id: z.int(),
      data_center: z.string(),
      quota: z.literal('7500;w=3600'),
      iat: z.literal(clock.now() / 1000),
      exp: z.literal(clock.now() / 1000 + 86_400),
    });
    expect(claims.safeParse(JSON.parse(payload)).error).toBeUndefined();
  });

  it('ends when its time is over, and not before', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    await clock.advance(86_400_000 - 1);
    expect((await call('GET', '/users/me')).status).toBe(200);
    await clock.advance(1);
    const answer = await call('GET', '/users/me');
    expect([answer.status, errorCode(answer)]).toEqual([401, 'UNAUTHENTICATED']);
  });

  it('is revoked alone: another login of the same user in the same second goes on', async () => {
    const { call, url } = await startEmulator({ clock: manualClock() });
    const other = await logIn(url, 'administrator');
    await call('POST', '/logout');
    expect((await call('GET', '/users/me')).status).toBe(401);
    expect((await call('GET', '/users/me', { token: other })).status).toBe(200);
  });

  it('outlives a restart with the same seed, and no other seed takes it', async () => {
    const { token } = await startEmulator({ seed: 7 });
    const again = await startEmulator({ seed: 7 });
    expect((await again.call('GET', '/users/me', { token })).status).toBe(200);
    const other = await startEmulator({ seed: 8 });
    expect((await other.call('GET', '/users/me', { token })).status).toBe(401);
  });
});

describe('an API token', () => {
  it('must live 300 seconds at least', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    const soon = clock.now() / 1000 + 299;
    const answer = await call('POST', '/auth/apitoken', {
      body: { expire_time: soon, permissions: ['device:r'] },
    });
    expect([answer.status, errorCode(answer)]).toEqual([400, 'BAD_REQUEST']);
    const created = await apiToken(call, {
      expire_time: soon + 1,
      permissions: ['device:r'],
      description: 'd',
    });
    expect(created).toMatchObject({
      create_time: '2026-01-15T12:00:00.000+0000',
      expire_time: '2026-01-15T12:05:00.000+0000',
      description: 'd',
      permissions: ['device:r'],
    });
    const token = created.access_token;
    await clock.advance(299_999);
    expect((await call('GET', '/devices', { token })).status).toBe(200);
    await clock.advance(1);
    expect((await call('GET', '/devices', { token })).status).toBe(401);
  });

  it.each([{ expire_time: null }, {}])('does not expire when %j says so', async (body) => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    const created = await apiToken(call, body);
    expect(created.expire_time).toBeNull();
    await clock.advance(10 * 365 * 86_400_000);
    expect((await call('GET', '/users/me', { token: created.access_token })).status).toBe(200);
  });

  it('carries no more than its maker had', async () => {
    const { call } = await startEmulator();
    const limited = await apiToken(call, { permissions: ['token:new', 'device:r', 'device:list'] });
    const token = limited.access_token;
    const wider = await call('POST', '/auth/apitoken', { token, body: { permissions: ['device*'] } });
    expect(createdApiTokenSchema.parse(wider.body).permissions).toEqual(['device:r', 'device:list']);
    const none = await call('POST', '/auth/apitoken', { token, body: { permissions: ['ssid'] } });
    expect([none.status, errorCode(none)]).toEqual([403, 'PERMISSION_DENIED']);
  });

  it('is described by /auth/apitoken/info', async () => {
    const clock = manualClock();
    const { call } = await startEmulator({ clock });
    const expire = clock.now() / 1000 + 1000;
    const { access_token: token } = await apiToken(call, { expire_time: expire, permissions: ['auth:r'] });
    await clock.advance(400_000);
    const info = tokenInfoSchema.parse((await call('GET', '/auth/apitoken/info', { token })).body);
    expect(info).toMatchObject({
      user_name: 'admin@emulator.test',
      role: 'Administrator',
      scopes: ['auth:r'],
      issued_at: '2026-01-15T12:00:00.000+0000',
      expires_in: 600,
    });
  });
});

it('a JWT is read with its own key only, and not after any change', () => {
  const claims = fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()));
  fc.assert(
    fc.property(
      claims,
      fc.string(),
      fc.nat(),
      fc.string({ minLength: 1, maxLength: 1 }),
      (given, key, at, put) => {
        const token = signJwt(given, key);
        expect(readJwt(token, key)).toEqual(JSON.parse(JSON.stringify(given)));
        expect(readJwt(token, `${key}!`)).toBeUndefined();
        const index = at % token.length;
        const changed = token.slice(0, index) + put + token.slice(index + 1);
        fc.pre(changed !== token);
        expect(readJwt(changed, key)).toBeUndefined();
      },
    ),
  );
});
