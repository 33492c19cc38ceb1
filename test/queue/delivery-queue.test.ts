import path from 'node:path';
import { writeFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import { OutageError } from '../../src/lib/errors.ts';
import { InstallationMemory } from '../../src/queue/installation.ts';
import { databaseForTest } from '../support/for-one-test.ts';
import { queuedDelivery } from '../support/deliveries.ts';
import { openQueue } from '../support/open-queue.ts';
import { newDirectory } from '../support/use-directory.ts';
import { waitFor } from '../support/wait-for.ts';

const findStored = async () => ({ stored: new Set<string>() });

it.each([true, false])('what is queued is spooled, too, if durability is strict: %j', async (isStrict) => {
  const { databaseUrl } = await databaseForTest();
  const location = { kind: 'postgres', databaseUrl } as const;
  const { queue, segments, log, close } = await openQueue(location, isStrict ? { findStored } : {});
  await waitFor(async () => (await queue.check()) === 'queued');
  expect(await queue.enqueue(queuedDelivery('AUDIT_LOG_ALL', [{}]))).toBe('queued');
  expect(await segments()).toBe(isStrict ? 1 : 0);
  expect(queue.state()).toMatchObject({ works: true, failure: undefined });
  await close();
  expect(log().includes('the spool keeps its deliveries until the next start')).toBe(isStrict);
});

it('a full disk matters to deliveries that go to the spool: all if durability is strict or the queue is away', async () => {
  const { databaseUrl, db } = await databaseForTest();
  const spool = { directory: await newDirectory(), maxBytes: 1_000_000, minFreeBytes: 2 ** 60 };
  const location = { kind: 'postgres', databaseUrl } as const;
  const [usual, strict] = [
    await openQueue(location, { spool }),
    await openQueue(location, { spool, findStored }),
  ];
  expect(await usual.queue.check()).toBe('queued');
  await expect(strict.queue.check()).rejects.toThrow(OutageError);
  await sql`alter schema bullmq rename to away`.execute(db);
  await expect(usual.queue.enqueue(queuedDelivery('AUDIT_LOG_ALL', [{}]))).rejects.toThrow(OutageError);
  await expect(usual.queue.check()).rejects.toThrow(OutageError);
  expect(usual.queue.state()).toMatchObject({
    works: false,
    failure: expect.stringContaining('queue') as unknown,
  });
  for (const one of [usual, strict]) await one.close();
});

it('an installation is remembered in the data directory, until its file is damaged', async () => {
  const directory = path.join(await newDirectory(), 'data');
  const known = { id: '01890a5d-ac96-474b-8cce-b302099a8057', system: null, database: 'test' };
  const memory = new InstallationMemory(directory, false);
  expect(memory.get()).toBeUndefined();
  memory.set(known, 'queue');
  expect([memory.get(), memory.isCertain]).toEqual([known, false]);
  memory.set(known, 'database');
  expect(memory.isCertain).toBe(true);
  expect(new InstallationMemory(directory, false).get()).toEqual(known);
  for (const damaged of ['{', JSON.stringify({ ...known, id: 'x' })]) {
    await writeFile(memory.file ?? '', damaged);
    expect(new InstallationMemory(directory, false).get()).toBeUndefined();
  }
  expect(new InstallationMemory(undefined, false).file).toBeUndefined();
});
