import { stat } from 'node:fs/promises';
import { readCloudTime } from '../../cloud/exchange.ts';
import type { Config } from '../../config/config.ts';
import { freeBytes } from '../../lib/files/free-bytes.ts';
import { readServerTime } from '../../store/server/database.ts';
import { formatBytes, formatDuration } from '../../lib/text/units.ts';
import { fail, ok, warn, type Finding } from './check.ts';
import type { DatabaseAccess } from './database.ts';

/** Seconds that a clock may be wrong: a Date header has whole seconds, and answers take time. */
const WARN_S = 5;
const FAIL_S = 60;

const CLOCK_REMEDY = 'synchronize the clocks of both machines with NTP (chrony, systemd-timesyncd)';

/** Compares this machine's clock with the database's, which leases and delivery times rely on. */
export async function checkDatabaseClock(access: DatabaseAccess): Promise<Finding> {
  const { db } = access.opened();
  return compareClocks("the database's", () => readServerTime(db));
}

/** Compares this machine's clock with the cloud's, which tokens and event times rely on. */
export async function checkCloudClock(apiUrl: string, signal: AbortSignal): Promise<Finding> {
  return compareClocks("the cloud's", () => readCloudTime(apiUrl, signal));
}

async function compareClocks(whose: string, read: () => Promise<number | undefined>): Promise<Finding> {
  const before = Date.now();
  const theirs = await read();
  const after = Date.now();
  if (theirs === undefined) return ok(`not compared: ${whose} response contains no time`);
  // The other clock was read at some time in between.
  const seconds = Math.max(0, before - theirs, theirs - after) / 1_000;
  const difference = `${formatDuration(Math.round(seconds))} ${theirs > after ? 'behind' : 'ahead of'} ${whose}`;
  if (seconds > FAIL_S) return { ...fail(difference, CLOCK_REMEDY), stops: false };
  return seconds > WARN_S ? warn(difference, CLOCK_REMEDY) : ok(`agrees with ${whose}`);
}

/** Checks that no other user of this machine can list or change the data directory. Its files are private by themselves. */
export async function checkDataDirectory({ dataDir }: Config): Promise<Finding> {
  const found = await stat(dataDir).catch(() => undefined);
  if (found === undefined) return ok(`${dataDir} does not exist yet`);
  const mode = (found.mode & 0o777).toString(8);
  return (found.mode & 0o066) === 0
    ? ok(`${dataDir} has mode ${mode}`)
    : warn(
        `other users of this machine can list or change ${dataDir} (mode ${mode})`,
        `chmod go-rw ${dataDir}`,
      );
}

/** The spool stops at SPOOL_MIN_FREE_BYTES: less than this many times as much free space is a warning. */
const MARGIN = 4;

/** Checks that the disk has room for the spool and an embedded database. */
export async function checkDisk({ dataDir, spool: { minFreeBytes } }: Config): Promise<Finding> {
  const free = await freeBytes(dataDir);
  const state = `${formatBytes(free)} free for ${dataDir}`;
  if (free < minFreeBytes) {
    return fail(
      `${state}, less than SPOOL_MIN_FREE_BYTES (${formatBytes(minFreeBytes)}): the spool accepts nothing`,
      'free disk space, or move DATA_DIR to a larger disk',
    );
  }
  return free < minFreeBytes * MARGIN ? warn(state, 'free disk space, or set a retention') : ok(state);
}
