import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createTestDatabase } from '../support/database.ts';
import { endOfProgram, SECRET, temporaryDirectory } from '../support/program.ts';
import { DIALECTS, startStandIn } from '../subscribe/stand-in.ts';

let directory: string;
beforeAll(async () => {
  directory = await temporaryDirectory();
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const Finding = z.object({ check: z.string(), status: z.string(), message: z.string() });

const PlanJson = z.array(z.object({ in_order: z.boolean(), not_offered: z.array(z.string()) }));

describe.each(Object.entries(DIALECTS))('the program in the dialect: %s', (name, dialect) => {
  it('plans, applies, lists, rotates and removes its subscriptions, and doctor finds them in order', async () => {
    await using cloud = await startStandIn(dialect);
    const database = await createTestDatabase();
    const settings = {
      DATABASE_URL: database.databaseUrl,
      DATA_DIR: directory,
      CLOUD_API_URL: cloud.baseUrl,
      CLOUD_API_TOKEN: 'token-of-the-dialects-test',
      PUBLIC_URL: 'http://127.0.0.1:9',
      MESSAGE_TYPES: 'AUDIT_LOG_ALL,SMS_LOG_ALL,ALERT',
      WEBHOOK_SECRET: SECRET,
    };
    const run = async (...args: string[]) => {
      const { code, stdout, stderr } = await endOfProgram(settings, ...args);
      expect([args, code, stderr]).toEqual([args, 0, expect.any(String)]);
      expect(stdout.toString() + stderr).not.toContain(SECRET);
      return stdout.toString();
    };
    const hasAlerts = cloud.behaviour.refusesAlerts === undefined;
    const count = hasAlerts ? 3 : 2;

    await run('subscribe', 'apply');
    expect(cloud.held.length + cloud.heldAlerts.length).toBe(count);
    const [plan] = PlanJson.parse(JSON.parse(await run('subscribe', 'plan', '--check', '--json')));
    expect(plan).toEqual({ in_order: true, not_offered: hasAlerts ? [] : ['ALERT'] });
    const listed = z.array(z.unknown()).parse(JSON.parse(await run('subscribe', 'list', '--json')));
    expect(listed).toHaveLength(count);

    const examined = await endOfProgram(settings, 'doctor', '--json');
    const findings = examined.stdout
      .toString()
      .trim()
      .split('\n')
      .map((line) => Finding.parse(JSON.parse(line)));
    const rest = hasAlerts ? '' : '; not offered by this cloud: ALERT';
    expect(findings).toContainEqual({
      check: 'subscriptions',
      status: 'ok',
      message: `${count} subscriptions up to date${rest}`,
    });

    const rotated = `${SECRET}-new`;
    const { code } = await endOfProgram(
      { ...settings, WEBHOOK_SECRET: `${rotated},${SECRET}` },
      'subscribe',
      'apply',
    );
    expect(code).toBe(0);
    const secrets = [...cloud.held, ...cloud.heldAlerts].map(({ secret }) => secret);
    expect(secrets).toEqual(Array.from({ length: count }, () => rotated));

    await run('subscribe', 'remove', '--yes');
    expect([cloud.held, cloud.heldAlerts]).toEqual([[], []]);
    await database.drop();
  });

  it('doctor --live reports the dialect, and no data of the account', async () => {
    await using cloud = await startStandIn(dialect);
    const token = 'token-of-the-dialects-test';
    cloud.held.push({
      id: 4711_0815,
      application: 'siem of ann@x.test',
      url: 'https://private.test/hook',
      secret: 'of-the-siem',
      message_type: 'AUDIT_LOG_ALL',
      status: 'ENABLED',
    });
    const settings = { DATA_DIR: directory, CLOUD_API_URL: cloud.baseUrl, CLOUD_API_TOKEN: token };
    const { code, stdout, stderr } = await endOfProgram(settings, 'doctor', '--live', '--json');
    const report = stdout.toString();
    const findings = report
      .trim()
      .split('\n')
      .map((line) => Finding.parse(JSON.parse(line)));
    const message = findings.find(({ check }) => check === 'GET /subscriptions/webhook')?.message;
    const form = {
      specification: 'refused with 404',
      'specification with a list': '200, page with pagination',
      'published description until 25.1': '200, bare array',
      'published description 25.9': '200, array of pages',
      SDK: '200, page (',
      mixed: '200, array of pages',
    }[name];
    expect(message).toContain(form);
    expect(report + stderr).not.toMatch(/47110815|ann@|private\.test|of-the-siem|token-of/);
    expect(
      new Set(cloud.received.map(({ method, url }) => `${method} ${url}`.replace(/^GET .*/, 'GET'))),
    ).toEqual(new Set(['GET', 'POST /auth/permissions/:check']));
    expect(code).toBe(0);
  });
});

it('a body of no documented form is one line of each command', async () => {
  await using cloud = await startStandIn({ listBody: () => ({ rows: [{ secret: 'of-the-siem' }] }) });
  const database = await createTestDatabase();
  const settings = {
    DATABASE_URL: database.databaseUrl,
    DATA_DIR: directory,
    CLOUD_API_URL: cloud.baseUrl,
    CLOUD_API_TOKEN: 'token-of-the-dialects-test',
    PUBLIC_URL: 'http://127.0.0.1:9',
    WEBHOOK_SECRET: SECRET,
  };
  for (const action of ['plan', 'list', 'apply']) {
    const { code, stderr } = await endOfProgram(settings, 'subscribe', action);
    expect([action, code]).toEqual([action, 1]);
    const lines = stderr.trim().split('\n');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(
      'unexpected body: received {rows: array of 1 {secret: string}}; expected bare array',
    );
  }
  await database.drop();
});
