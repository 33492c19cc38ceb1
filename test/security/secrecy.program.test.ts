import { readdirSync, readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { z } from 'zod';
import { standIn, type StandIn } from '../support/stand-in.ts';
import { emptyRedis } from '../support/backends.ts';
import { auditRecord } from '../support/deliveries.ts';
import { startProgram, type Program } from '../support/program.ts';
import { useDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const WEBHOOK_SECRET = 'webhook-secret-of-the-secrecy-test';
const CLOUD_PASSWORD = 'cloud-password-of-the-secrecy-test';

const hasRedis = inject('redisUrl') !== undefined;

/** The embedded database makes its own passwords; the cloud refuses the login and quotes what it was sent. */
describe('the whole program', () => {
  const directory = useDirectory();
  let cloud: StandIn;
  let redisUrl: string | undefined;
  let program: Program;
  let secrets: string[];
  const answers: string[] = [];

  beforeAll(async () => {
    cloud = await standIn(({ body }) => ({
      status: 401,
      json: { error_code: 'UNAUTHENTICATED', error_id: '1', error_message: body },
    }));
    redisUrl = hasRedis ? await emptyRedis() : undefined;
    program = await startProgram({
      DATA_DIR: directory,
      WEBHOOK_SECRET,
      CLOUD_API_URL: cloud.url,
      CLOUD_USERNAME: 'admin@example.com',
      CLOUD_PASSWORD,
      PUBLIC_URL: 'https://sink.test',
      SUBSCRIBE: 'auto',
      LOG_LEVEL: 'trace',
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
    });
    const kept: unknown = JSON.parse(await readFile(credentialsFile(), 'utf8'));
    const { bootstrapPassword, servicePassword, readerPassword } = z
      .object({ bootstrapPassword: z.string(), servicePassword: z.string(), readerPassword: z.string() })
      .parse(kept);
    secrets = [WEBHOOK_SECRET, CLOUD_PASSWORD, bootstrapPassword, servicePassword, readerPassword];
    await deliver();
    await waitFor(() => cloud.received.length > 0 && program.output().includes('answered 401'));
  });
  afterAll(async () => {
    await program.end('SIGTERM');
    await cloud[Symbol.asyncDispose]();
  });

  const credentialsFile = () => path.join(directory, 'postgres', 'credentials.json');

  /** Deliveries in every form of the secret, right and wrong, whose answers and log lines could give it away. */
  async function deliver(): Promise<void> {
    const basic = Buffer.from(`x:${WEBHOOK_SECRET}`).toString('base64');
    const forms = [`Bearer ${WEBHOOK_SECRET}`, `Basic ${basic}`, WEBHOOK_SECRET, `Digest ${WEBHOOK_SECRET}`];
    for (const authorization of forms) {
      for (const body of [JSON.stringify(auditRecord()), '{"a":', '']) {
        const response = await fetch(`${program.url}/ingest/default/AUDIT_LOG_ALL`, {
          method: 'POST',
          headers: { authorization },
          body,
        });
        answers.push(`${JSON.stringify([...response.headers])} ${await response.text()}`);
      }
    }
    for (const page of ['/healthz', '/readyz', '/', '/ingest/default/X']) {
      answers.push(await (await fetch(program.url + page)).text());
    }
  }

  /** The secrets that a text holds, as they are or as a header holds them. */
  const secretsIn = (text: string) =>
    secrets.filter((secret) =>
      [secret, Buffer.from(`x:${secret}`).toString('base64')].some((form) => text.includes(form)),
    );

  it('prints no secret', () => {
    expect(
      secretsIn(`${WEBHOOK_SECRET} ${Buffer.from(`x:${CLOUD_PASSWORD}`).toString('base64')}`),
    ).toHaveLength(2);
    expect(secretsIn(program.output())).toEqual([]);
  });

  it('answers with no secret', () => {
    expect(secretsIn(answers.join('\n'))).toEqual([]);
  });

  it.skipIf(process.platform !== 'linux')('has no secret in the arguments of its processes', async () => {
    const postmaster = await readFile(path.join(directory, 'postgres', 'cluster', 'postmaster.pid'), 'utf8');
    const pids = [program.pid, Number(postmaster.split('\n')[0])].flatMap(withChildren);
    expect(pids.length).toBeGreaterThan(3);
    for (const pid of pids) {
      expect(secretsIn(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => 'it has ended'))).toEqual(
        [],
      );
    }
  });

  it.skipIf(!hasRedis)('hands no secret to Redis', async () => {
    const redis = new Redis(redisUrl ?? '');
    try {
      // A job is there for milliseconds: whoever reads Redis all the time sees every one.
      const seen = new Set<string>();
      const monitor = await redis.monitor();
      monitor.on('monitor', (_time: string, args: string[]) => seen.add(args.join(' ')));
      await waitFor(async () => {
        await deliver();
        return [...seen].some((command) => command.includes('admin@example.com'));
      });
      expect(secretsIn([...seen].join('\n'))).toEqual([]);
      monitor.disconnect();
    } finally {
      redis.disconnect();
    }
  });

  it('keeps its passwords in files that only their owner reads', async () => {
    for (const file of [credentialsFile(), path.join(directory, 'postgres', 'pgpass')]) {
      expect((await stat(file)).mode % 0o1000).toBe(0o600);
    }
  });
});

function withChildren(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => parentOf(candidate) === pid);
  return [pid, ...children.flatMap(withChildren)];
}

function parentOf(pid: number): number {
  try {
    return Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
  } catch {
    return 0;
  }
}
