import { randomUUID } from 'node:crypto';
import { Queue } from 'bullmq';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startDeliveryWorker } from '../../src/handlers/delivery-worker.ts';
import { OutageError, UsageError } from '../../src/lib/errors.ts';
import { checkInstallation, InstallationMemory } from '../../src/queue/installation.ts';
import { QUEUE_NAME } from '../../src/queue/lanes.ts';
import { connectRedis, revive, serverOf } from '../../src/queue/redis-client.ts';
import { createReplicaGuard } from '../../src/queue/redis-replicas.ts';
import { checkRights } from '../../src/queue/redis-rights.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { hasOpenssl } from '../support/certificates.ts';
import { redisForTest } from '../support/for-one-test.ts';
import { hasRedisServer } from '../support/redis.ts';
import { useCertificate } from '../support/use-certificate.ts';
import { waitFor } from '../support/wait-for.ts';

const MARK = 'bull:installation';

function connect(url: string) {
  const client = connectRedis({ url }, 'worker');
  client.on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  if (client.isCluster) throw new TypeError('it is one server');
  return client;
}

const newInstallation = (system: string | null = null) => ({ id: randomUUID(), system, database: 'test' });

/** What a process remembers: of its database, or, without one, of the queue. */
function memoryOf(own: ReturnType<typeof newInstallation>, source: 'database' | 'queue') {
  const memory = new InstallationMemory(undefined, source === 'database');
  memory.set(own, source);
  return memory;
}

describe.skipIf(!hasRedisServer())('the queue in Redis (needs redis-server)', () => {
  it.each([
    ['-info', '+info'],
    ['-evalsha', '+evalsha'],
    ['resetkeys', '~bull:*'],
  ])('names what a user lacks: %s needs %s', async (taken, needed) => {
    const redis = await redisForTest();
    const rights = ['+@all', '-@admin', '-@dangerous', '+info', '~bull:*', taken];
    await redis.command('ACL', 'SETUSER', 'sink', 'on', '>secret', ...rights);
    const check = () => checkRights(connect(redis.url.replace('//', '//sink:secret@')), `bull:${QUEUE_NAME}`);
    await expect(check()).rejects.toThrow(`ACL SETUSER sink ${needed}`);
    await redis.command('ACL', 'SETUSER', 'sink', needed);
    await check();
  });

  it('belongs to the installation that marked it: a restored copy is another one to whoever knows its database', async () => {
    const { url } = await redisForTest();
    const client = connect(url);
    const own = newInstallation('7/1');
    await checkInstallation(client, 'bull', memoryOf(own, 'database'));
    expect(JSON.parse((await client.get(MARK)) ?? '')).toEqual(own);
    const copy = { ...own, system: '7/2' };
    const other = newInstallation('7/1');
    await checkInstallation(client, 'bull', memoryOf(own, 'database'));
    await checkInstallation(client, 'bull', memoryOf(copy, 'queue'));
    for (const memory of [
      memoryOf(copy, 'database'),
      memoryOf(other, 'database'),
      memoryOf(other, 'queue'),
    ]) {
      await expect(checkInstallation(client, 'bull', memory)).rejects.toThrow(UsageError);
    }
    await checkInstallation(client, 'elsewhere', memoryOf(other, 'database'));
    const unknown = checkInstallation(client, 'bull', new InstallationMemory(undefined, true));
    await expect(unknown).rejects.toThrow(OutageError);
  });

  it('is left alone by the worker of another installation, until it belongs to that', async () => {
    const { url } = await redisForTest();
    const client = connect(url);
    await client.set(MARK, JSON.stringify(newInstallation()));
    const queue = new Queue(QUEUE_NAME, { connection: { url } });
    onTestFinished(() => queue.close());
    const deliveries = [queuedDelivery('AUDIT_LOG_ALL', [{ id: 1 }])];
    await queue.add('batch', { version: 1, deliveries });
    let [stored, log] = [0, ''];
    const add = async () => {
      stored += 1;
      return { deliveries: 1, events: 0, duplicates: 0, quarantined: 0 };
    };
    const memory = memoryOf(newInstallation(), 'database');
    const logger = pino({}, { write: (line) => void (log += line) });
    const worker = startDeliveryWorker({ kind: 'redis', url, installation: memory }, { add }, logger);
    onTestFinished(() => worker.close());
    const ready = vi.fn();
    void worker.ready.then(ready);
    await waitFor(() => log.includes('The queue in Redis belongs to installation'));
    expect(stored).toBe(0);
    expect(ready).not.toHaveBeenCalled();
    await client.del(MARK);
    await waitFor(() => stored === 1);
  });

  it('is connected to again after its client has given up', async () => {
    const client = connect((await redisForTest()).url);
    await client.ping();
    await revive(client);
    client.disconnect();
    await waitFor(() => client.status === 'end');
    await revive(client);
    expect(await client.ping()).toBe('PONG');
  });

  it('has taken nothing before its replica confirms it, also the first time', async () => {
    const master = await redisForTest();
    const { port } = new URL(master.url);
    const replica = await redisForTest('--replicaof', '127.0.0.1', port);
    const client = connect(master.url);
    await waitFor(async () => (await client.info('replication')).includes('state=online'));
    const guardAnew = () => createReplicaGuard(serverOf(client, `bull:${QUEUE_NAME}`));
    expect(await guardAnew().write(() => client.set('a', '1'))).toBe('OK');
    replica.signal('SIGSTOP');
    await expect(guardAnew().write(() => client.set('a', '2'))).rejects.toThrow(OutageError);
    replica.signal('SIGCONT');
    const guard = guardAnew();
    expect(await guard.write(() => client.set('a', '3'))).toBe('OK');
    const atReplica = createReplicaGuard(serverOf(connect(replica.url), 'key'));
    await expect(atReplica.check()).rejects.toThrow(`is a replica of 127.0.0.1:${port} (READONLY)`);
    await guard.check();
    await replica.command('REPLICAOF', 'NO', 'ONE');
    await atReplica.check();
    await waitFor(async () => (await client.info('replication')).includes('connected_slaves:0'));
    await expect(guard.check()).rejects.toThrow('just lost its last replica');
    await guardAnew().check();
  });
});

describe.skipIf(!hasOpenssl)('a client of Redis (needs openssl)', () => {
  const certificate = useCertificate('DNS:cache');

  it.each([
    ['rediss://127.0.0.1:1', true],
    ['rediss+sentinel://127.0.0.1:1/main', true],
    ['redis://127.0.0.1:1', false],
  ])('of %s uses TLS: %j, with the authorities of REDIS_CA_FILE', (url, usesTls) => {
    const client = connectRedis({ url, caFile: certificate.certFile }, 'producer');
    client.disconnect();
    expect(Reflect.get(client.options, 'tls')).toEqual(usesTls ? { ca: certificate.cert } : undefined);
  });
});
