import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { EMULATOR_OPTIONS } from '../command-options.ts';
import { commandName } from '../../src/lib/text/command-name.ts';
import { emulatorOptionsSchema, runEmulator, startedScreen } from '../run-emulator.ts';
import type { EmulatorStarted } from '../run-emulator.ts';
import { createCall, startEmulator } from './harness.ts';

const DEFAULTS = Object.fromEntries(EMULATOR_OPTIONS.map((option) => [option.name, option.default]));

function run(options: Record<string, string> = {}) {
  const stop = new AbortController();
  const { promise: started, resolve } = Promise.withResolvers<EmulatorStarted>();
  const parsed = emulatorOptionsSchema.parse({ ...DEFAULTS, port: '0', ...options });
  const ended = runEmulator(parsed, { signal: stop.signal, onStarted: resolve });
  return { started, ended, stop };
}

describe('the options of the command', () => {
  it('have defaults that they take themselves', () => {
    expect(emulatorOptionsSchema.parse(DEFAULTS)).toEqual({
      port: 8090,
      host: '127.0.0.1',
      seed: 1,
      scale: { devices: 50, clients: 200, users: 100 },
      rate: 5,
      secretForm: 'basic',
      dialect: 'vendor',
    });
    expect(Object.keys(DEFAULTS)).toEqual(Object.keys(emulatorOptionsSchema.shape));
  });

  it.each([
    ['10', { devices: 10, clients: 40, users: 20 }],
    ['10,5', { devices: 10, clients: 5, users: 20 }],
    ['10,5,3', { devices: 10, clients: 5, users: 3 }],
  ])('scale %s', (scale, expected) => {
    expect(emulatorOptionsSchema.parse({ ...DEFAULTS, scale }).scale).toEqual(expected);
  });

  it.each([
    ['port', '65536'],
    ['port', 'http'],
    ['host', ''],
    ['seed', '-1'],
    ['scale', 'many'],
    ['rate', '-5'],
    ['rate', 'fast'],
    ['secretForm', 'header'],
    ['dialect', 'xml'],
  ])('%s refuses %j', (name, value) => {
    const result = emulatorOptionsSchema.safeParse({ ...DEFAULTS, [name]: value });
    expect(result.error?.issues[0]?.path).toEqual([name]);
    expect(result.error?.issues[0]?.message).toMatch(/^must /);
  });
});

describe('a run', () => {
  it('tells where it is and who can log in, serves until it is told to stop, and is gone then', async () => {
    const { started, ended, stop } = run();
    const { url, logins } = await started;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    for (const { username, password, role } of logins) {
      const call = createCall(url);
      const login = await call('POST', '/login', { body: { username, password } });
      const { access_token: token } = z.object({ access_token: z.string() }).parse(login.body);
      expect((await call('GET', '/users/me', { token })).body).toMatchObject({
        user_role: role.toUpperCase(),
      });
    }
    stop.abort();
    await ended;
    await expect(fetch(`${url}/openapi.json`)).rejects.toThrow('fetch failed');
  });

  it('shows the command that subscribes to it as a person types it here', () => {
    expect(startedScreen({ url: 'http://here', logins: [] })).toContain(
      `SUBSCRIBE=auto ${commandName()} serve`,
    );
  });

  it('takes seed, scale, rate, secret form and dialect from the options', async () => {
    const { started, ended, stop } = run({
      seed: '5',
      scale: '3',
      rate: '2.5',
      secretForm: 'hmac',
      dialect: 'sdk',
    });
    const { url } = await started;
    const { body } = await createCall(url)('GET', '/emulator/status');
    expect(body).toMatchObject({ seed: 5, rate: 2.5, secret_form: 'hmac', dialect: 'sdk' });
    stop.abort();
    await ended;
  });

  it('says what to do when the port is taken', async () => {
    const { url } = await startEmulator();
    const { ended } = run({ port: new URL(url).port });
    await expect(ended).rejects.toThrow(/cannot listen on 127\.0\.0\.1:\d+\. Choose another port/);
  });
});
