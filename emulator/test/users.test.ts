import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startEmulator } from './harness.ts';

const entity = z.looseObject({ id: z.int() });

describe('users', () => {
  it('keep what they are given, and change what a PATCH names', async () => {
    const { call } = await startEmulator();
    const body = { login_name: 'new@emulator.test', phone: '+1555', user_role: 'Operator' };
    const { id } = entity.parse((await call('POST', '/users', { body })).body);
    expect((await call('GET', `/users/${id}`)).body).toMatchObject({ id, ...body });
    const patched = await call('PATCH', `/users/${id}`, { body: { user_role: 'Administrator', id: 1 } });
    expect(patched.body).toMatchObject({ ...body, id, user_role: 'Administrator' });
    await call('DELETE', `/users/${id}`);
    expect((await call('GET', `/users/${id}`)).status).toBe(404);
  });

  it('have login names of their own', async () => {
    const { call } = await startEmulator();
    const body = { login_name: 'operator@emulator.test' };
    expect((await call('POST', '/users', { body })).status).toBe(400);
    const me = entity.parse((await call('GET', '/users/me')).body);
    expect((await call('PATCH', `/users/${me.id}`, { body })).status).toBe(400);
    expect((await call('PATCH', `/users/${me.id}`, { body: { login_name: me['login_name'] } })).status).toBe(
      200,
    );
  });

  it('from outside are granted, changed and revoked', async () => {
    const { call } = await startEmulator();
    const body = { login_name: 'partner@elsewhere.test', org_id: 5 };
    const { id } = entity.parse((await call('POST', '/users/external', { body })).body);
    expect((await call('PATCH', `/users/external/${id}`, { body: { org_id: 6 } })).text).toBe('');
    expect((await call('GET', `/users/external/${id}`)).body).toMatchObject({ ...body, org_id: 6 });
    await call('DELETE', `/users/external/${id}`);
    expect((await call('GET', '/users/external')).body).toMatchObject({ data: [] });
  });
});

describe('end users', () => {
  const withPassword = z.looseObject({ id: z.int(), password: z.string().min(8) });

  it.each([{}, { password: '' }, { password: null }])('get a password where %j has none', async (given) => {
    const { call } = await startEmulator();
    const answer = await call('POST', '/endusers', { body: { user_name: 'guest', ...given } });
    expect(withPassword.parse(answer.body)).toMatchObject({ user_name: 'guest' });
  });

  it('keep the password they are given, until it is regenerated', async () => {
    const { call } = await startEmulator();
    const body = { user_name: 'guest', password: 'chosen-by-me' };
    const created = withPassword.parse((await call('POST', '/endusers', { body })).body);
    expect(created.password).toBe(body.password);
    const answer = await call('POST', `/endusers/${created.id}/:regenerate-password`);
    const { password } = z.strictObject({ password: z.string().min(8) }).parse(answer.body);
    expect(password).not.toBe(body.password);
    expect((await call('GET', '/endusers?usernames=guest')).body).toMatchObject({ data: [{ password }] });
  });

  it('are listed by their names', async () => {
    const { call } = await startEmulator();
    for (const user_name of ['one', 'two', 'three']) await call('POST', '/endusers', { body: { user_name } });
    const both = await call('GET', '/endusers?usernames=one&usernames=three,nobody');
    expect(both.body).toMatchObject({ data: [{ user_name: 'one' }, { user_name: 'three' }] });
    expect((await call('GET', '/endusers')).body).toMatchObject({ pagination: { total: 13 } });
  });
});

describe('the account', () => {
  it('is switched to itself or to one of others, and to no third', async () => {
    const { call } = await startEmulator();
    const [external] = z.array(entity).parse((await call('GET', '/account/external')).body);
    const answer = await call('POST', `/account/:switch?id=${external?.id}`);
    const { access_token: token } = z.object({ access_token: z.string() }).parse(answer.body);
    expect((await call('GET', '/users/me', { token })).status).toBe(200);
    expect((await call('POST', '/account/:switch?id=1')).status).toBe(404);
    expect((await call('POST', '/account/:switch')).status).toBe(400);
  });

  it.each(['short1', 'onlyletters', '12345678'])('refuses the device password %j', async (body) => {
    const { call } = await startEmulator();
    const answer = await call('PUT', '/v1/account/viq/default-device-password', { body });
    expect(answer.status).toBe(400);
    expect(answer.text).not.toContain(body);
  });
});

it('the HIQ context is what was chosen, and takes organizations of the account only', async () => {
  const { call } = await startEmulator();
  const context = z.object({ reading_org_ids: z.array(z.int()).min(2), creating_org_id: z.int() });
  const before = context.parse((await call('GET', '/hiq/context')).body);
  const [, second = 0] = before.reading_org_ids;
  await call('PUT', '/hiq/context', { body: { reading_org_ids: [second], creating_org_id: second } });
  expect((await call('GET', '/hiq/context/reading')).body).toEqual([second]);
  expect((await call('GET', '/hiq/context/creating')).body).toBe(second);
  await call('PUT', '/hiq/context/creating', { body: before.creating_org_id });
  expect((await call('GET', '/hiq/context')).body).toEqual({
    reading_org_ids: [second],
    creating_org_id: before.creating_org_id,
  });
  expect((await call('PUT', '/hiq/context/creating', { body: 1 })).status).toBe(400);
  const wrong = { reading_org_ids: [1], creating_org_id: second };
  expect((await call('PUT', '/hiq/context', { body: wrong })).status).toBe(400);
  expect((await call('GET', '/hiq/context/creating')).body).toBe(before.creating_org_id);
});
