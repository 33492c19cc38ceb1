import { describe, expect, it } from 'vitest';
import { DIALECTS } from '../../emulator/dialects.ts';
import { createCall } from '../../emulator/test/call.ts';
import { LIST_FORMS } from '../../src/cloud/contract/shared.ts';
import { probesAt, type Observation } from '../../src/cloud/survey.ts';
import { LOGGED_TYPES } from '../../src/reconcile/log-kinds.ts';
import { emulatorForTest } from '../support/emulator.ts';
import type { Reply } from '../support/stand-in.ts';
import { startTestClient } from './test-client.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');

/** Makes the probe of this name against a cloud that answers everything with the reply. */
async function observe(name: string, reply: Reply) {
  await using cloud = await startTestClient(() => reply);
  const probe = probesAt(NOW).find((one) => one.name === name);
  if (probe === undefined) throw new Error(`no probe ${name}`);
  const observation = await cloud.client.observe(probe);
  return { ...observation, url: cloud.received[0]?.url };
}

const SUBSCRIPTION = {
  id: 1,
  url: 'https://secret.test',
  secret: 's3cret',
  status: 'ENABLED',
  owner: 'ann@x.test',
};

describe('a survey of the cloud', () => {
  it('only reads', () => {
    const calls = probesAt(NOW).map(({ call }) => `${call.method} ${call.path}`);
    expect(calls.filter((call) => !call.startsWith('GET '))).toEqual(['POST /auth/permissions/:check']);
    expect(new Set(probesAt(NOW).map(({ name }) => name)).size).toBe(calls.length);
  });

  it('reports the form of a list, its members with their types, and those not documented, but no value', async () => {
    const json = [
      { page: 1, total_count: 2, data: [SUBSCRIPTION, { ...SUBSCRIPTION, id: '2', secret: null }] },
    ];
    const { result, report } = await observe('GET /subscriptions/webhook', { json });
    expect(result).toBe('new members');
    expect(report).toContain(
      `200, array of pages (${LIST_FORMS['array of pages']}), 2 items; members: id integer or`,
    );
    expect(report).toContain('status string (capitals)');
    expect(report).toContain('not documented: owner string; absent: application');
    expect(report).not.toMatch(/s3cret|secret\.test|ann@|ENABLED/);
  });

  it.each([
    [
      'GET /account/viq',
      { json: { standalone: true, vhm_id: 'VHM-X' } },
      'as documented',
      /^200, object; members: /,
    ],
    [
      'GET /logs/sms',
      { json: { page: 1, total_count: 0 } },
      'as documented',
      /^200, page \(.*\), 0 items; absent|0 items$/,
    ],
    [
      'GET /logs/sms',
      { json: { rows: [{ tel: '+41 1' }] } },
      'undocumented',
      /no documented form: \{rows: array of 1 \{tel: string\}\}/,
    ],
    ['GET /alert-subscriptions/webhooks', { status: 404 }, 'not offered', /^refused with 404$/],
    [
      'GET /alerts',
      { status: 403, json: { error_code: 'ACCESS_DENIED', error_message: 'Not for ann@x.test' } },
      'not permitted',
      /^refused with 403 ACCESS_DENIED$/,
    ],
    [
      'GET /account/home',
      { status: 400, json: { error_code: 'for ann@x.test' } },
      'failed',
      /^refused with 400$/,
    ],
    ['GET /account/home', 'cut', 'failed', /^no answer$/],
    ['GET /logs/audit, limit 500', { status: 422 }, 'as documented', /^refused with 422$/],
    ['GET /logs/audit, limit 500', { json: [] }, 'as documented', /^accepted with 200$/],
  ] as const)('%s, answered by %j: %s', async (name, reply, result, report) => {
    expect(await observe(name, reply)).toMatchObject({
      result,
      report: expect.stringMatching(report) as unknown,
    });
  });

  it('queries the logs of the last day, and beyond the documented limits', async () => {
    const queryOf = async (name: string) => {
      const { url = '' } = await observe(name, { json: [] });
      return Object.fromEntries(new URL(url, 'http://cloud.test').searchParams);
    };
    const day = { page: '1', limit: '100', startTime: String(NOW - 86_400_000), endTime: String(NOW) };
    expect(await queryOf('GET /logs/audit')).toEqual(day);
    expect(await queryOf('GET /logs/audit, limit 500')).toEqual({ ...day, limit: '500' });
    expect(await queryOf('GET /logs/audit, 31 days')).toEqual({
      ...day,
      startTime: String(NOW - 31 * 86_400_000),
    });
  });
});

it.each(DIALECTS)('finds nothing in the dialect %s that is not documented', async (dialect) => {
  const { url, client } = await emulatorForTest({ dialect });
  const subscription = { url: 'https://example.test/ingest', secret: 'secret', application: 'xiq-sink' };
  await client.subscriptions.create([{ ...subscription, message_type: 'AUDIT_LOG_ALL' }]);
  await client.alertSubscriptions.create([{ ...subscription, message_type: 'ALERT' }]);
  const call = createCall(url);
  for (const type of LOGGED_TYPES) await call('POST', '/emulator/events', { body: { type, count: 30 } });
  const observations = new Map<string, Observation>();
  for (const probe of probesAt(Date.now())) observations.set(probe.name, await client.observe(probe));
  expect([...observations].filter(([, { result }]) => result !== 'as documented')).toEqual([]);
  expect([...observations].filter(([, { report }]) => report.includes(', 0 items'))).toEqual([]);
});
