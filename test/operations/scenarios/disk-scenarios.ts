import { chmod, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { mountSmallDisk } from '../../faults/disk.ts';
import { createPostgresPart } from '../../faults/postgres-part.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openAlone, openFleet } from '../fleet.ts';
import { createService, type Ground, startRedisFor } from '../ground.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { postgresQueue, redisQueue } from '../waiting.ts';

/** A disk without room for another byte, until there is room again. Nobody restarts the service. */
export const FULL_DISKS: readonly Scenario[] = [
  { name: "Postgres's disk full", refusesNone: true, open: openServer },
  // Queue, spool and tables are on one disk: what cannot be kept is refused.
  { name: 'disk of the embedded database full', refusesNone: false, open: openEmbedded },
];

/** Enough for the tables and a minute of load. */
const DISK_BYTES = 512 * 1024 ** 2;

const MIB = Buffer.alloc(1024 ** 2);

/** Fills the disk to its last page. Resolves with what makes room again. */
async function fill(directory: string): Promise<() => Promise<void>> {
  const ballast = path.join(directory, 'ballast');
  for (const piece of [MIB, MIB.subarray(0, 4_096)]) {
    for (;;) {
      try {
        await writeFile(ballast, piece, { flag: 'a' });
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') break;
        throw error;
      }
    }
  }
  return () => rm(ballast);
}

async function mount({ directory, stack }: Ground): Promise<string> {
  const disk = path.join(directory, 'disk');
  const unmount = await mountSmallDisk(disk, DISK_BYTES);
  stack.defer(unmount);
  await chmod(disk, 0o711);
  return disk;
}

async function openServer(ground: Ground): Promise<Stage> {
  const { directory, stack, pace, wait } = ground;
  const disk = await mount(ground);
  const postgres = await createPostgresPart(path.join(disk, 'server'), 100);
  stack.defer(() => postgres.stop());
  await postgres.start();
  const databaseUrl = await createService(postgres.url());
  const redis = await startRedisFor(ground);
  const settings = { DATABASE_URL: databaseUrl, REDIS_URL: `redis://127.0.0.1:${redis.port}` };
  const fleet = await openFleet({ directory, settings, isWhole: true }, stack);
  const act = async () => {
    const makeRoom = await fill(disk);
    await wait(pace.lasting * 2);
    await makeRoom();
    // A server that could not write its log has ended: its supervisor starts it again.
    const hasEnded = !(await postgres.runs());
    if (hasEnded) await postgres.start();
    return hasEnded ? 'the server ended, and was started again' : 'the server went on';
  };
  return { fleet, databaseUrl, readQueue: redisQueue(() => [redis.port]), act };
}

async function openEmbedded(ground: Ground): Promise<Stage> {
  const disk = await mount(ground);
  const fleet = await openAlone({ directory: disk, settings: { SPOOL_MIN_FREE_BYTES: '0' } }, ground.stack);
  const [service] = fleet.members;
  const act = async () => {
    const makeRoom = await fill(disk);
    await ground.wait(ground.pace.lasting * 2);
    await makeRoom();
    await waitFor(
      async () => (await fetch(`http://127.0.0.1:${service?.port}/readyz`).catch(() => undefined))?.ok,
      60_000,
    );
    return undefined;
  };
  return { fleet, databaseUrl: fleet.databaseUrl, readQueue: postgresQueue(fleet.databaseUrl), act };
}
