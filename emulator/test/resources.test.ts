import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startEmulator } from './harness.ts';

const entity = z.looseObject({ id: z.int() });

describe('webhook subscriptions', () => {
  const one = { application: 'a', url: 'http://127.0.0.1:9/x', secret: 's', message_type: 'AUDIT_LOG_ALL' };
  const path = '/subscriptions/webhook';

  it('are enabled unless told otherwise, and may be made twice', async () => {
    const { call } = await startEmulator();
    await call('POST', path, {
      body: [one, { ...one, message_type: 'LOCATION_AP_CENTRIC', status: 'DISABLED' }],
    });
    await call('POST', path, { body: [one] });
    expect((await call('GET', path)).body).toMatchObject({
      pagination: { total: 3 },
      data: [
        { ...one, status: 'ENABLED', data_type: 'AUDIT_LOG' },
        { status: 'DISABLED', data_type: 'LOCATION' },
        { ...one, status: 'ENABLED' },
      ],
    });
  });

  it('are changed member by member', async () => {
    const { call } = await startEmulator();
    const created = z.array(entity).parse((await call('POST', path, { body: [one] })).body);
    const at = `${path}/${created[0]?.id}`;
    expect(
      (await call('PUT', at, { body: { secret: 'new', message_type: 'SMS_LOG_ALL' } })).body,
    ).toMatchObject({
      ...one,
      secret: 'new',
      message_type: 'SMS_LOG_ALL',
      data_type: 'SMS_LOG',
    });
    expect((await call('PUT', `${path}/1`, { body: one })).status).toBe(404);
    expect((await call('DELETE', at)).status).toBe(200);
    expect((await call('DELETE', at)).status).toBe(404);
  });

  it.each([[], {}, [{ ...one, url: 'ftp://127.0.0.1/' }], [{ ...one, message_type: 'ALL' }], [one, {}]])(
    'are all refused when one is wrong: %j',
    async (body) => {
      const { call } = await startEmulator();
      expect((await call('POST', path, { body })).status).toBe(400);
      expect((await call('GET', path)).body).toMatchObject({ pagination: { total: 0 } });
    },
  );
});
