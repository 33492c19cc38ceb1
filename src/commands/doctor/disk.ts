import path from 'node:path';
import type { Config } from '../../config.ts';
import { describeError } from '../../errors.ts';
import { checkWritable, inspectSpool } from '../../queue/spool/inspect-spool.ts';
import { freeBytes } from '../../free-bytes.ts';
import { formatBytes } from './bytes.ts';
import { fail, ok, warn } from './check.ts';
import type { Finding } from './check.ts';

/** Of what the spool may hold, how much is a reason to look. */
const HALF_FULL = 0.5;

/** Whether the spool could take deliveries, and what lies in it. */
export async function checkSpool({ dataDir, spool }: Config): Promise<Finding> {
  const directory = path.join(dataDir, 'spool');
  try {
    await checkWritable(directory);
  } catch (error) {
    return fail(
      `${directory} cannot be written: ${describeError(error)}`,
      'give it to the user that runs xiq-sink, or set DATA_DIR to a directory of its own',
    );
  }
  const { segments, bytes, corrupt } = await inspectSpool(directory);
  const told = `${formatBytes(bytes)} in ${segments} segments, of ${formatBytes(spool.maxBytes)}`;
  if (corrupt.length > 0) {
    return warn(
      `${told}; damaged pieces were set aside: ${corrupt.join(', ')}`,
      'the disk or a person has changed them: keep the files, look at them, and check the disk',
    );
  }
  if (bytes >= spool.maxBytes) {
    return fail(
      `${told}: full, senders are turned away`,
      'let the queue come back, or raise SPOOL_MAX_BYTES',
    );
  }
  return bytes > spool.maxBytes * HALF_FULL
    ? warn(told, 'the queue does not take what is spooled: see queue')
    : ok(told);
}

/** Free space less than this many times what the spool leaves free is a reason to look. */
const MARGIN = 4;

/** Whether there is room for spool and embedded database. */
export async function checkDisk({ dataDir, spool: { minFreeBytes } }: Config): Promise<Finding> {
  const free = await freeBytes(dataDir);
  const told = `${formatBytes(free)} free for ${dataDir}`;
  if (free < minFreeBytes) {
    return fail(
      `${told}, less than SPOOL_MIN_FREE_BYTES (${formatBytes(minFreeBytes)}): nothing is spooled any more`,
      'make room, or move DATA_DIR to a larger disk',
    );
  }
  return free < minFreeBytes * MARGIN ? warn(told, 'make room, or set a retention') : ok(told);
}
