import { readCloudTime } from '../../cloud/exchange.ts';
import { readServerTime } from '../../store/database.ts';
import { fail, ok, warn } from './check.ts';
import type { Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

/** Seconds that a clock may be off: a Date header has whole seconds, and answers take time. */
const WARN_S = 5;
const FAIL_S = 60;

const REMEDY = 'let NTP (chrony, systemd-timesyncd) set the clock of both machines';

/** Compares this machine's clock with the database's: leases and the times of deliveries go by them. */
export async function checkDatabaseClock(access: DatabaseAccess): Promise<Finding> {
  const { db } = access.opened();
  return compareClocks("the database's", () => readServerTime(db));
}

/** Compares it with the cloud's: tokens expire, and events are found, by its clock. */
export async function checkCloudClock(apiUrl: string, signal: AbortSignal): Promise<Finding> {
  return compareClocks("the cloud's", () => readCloudTime(apiUrl, signal));
}

async function compareClocks(whose: string, read: () => Promise<number | undefined>): Promise<Finding> {
  const before = Date.now();
  const theirs = await read();
  const after = Date.now();
  if (theirs === undefined) return ok(`${whose} answer tells no time`);
  // The other clock was read at some time in between.
  const off = Math.max(0, before - theirs, theirs - after) / 1_000;
  const side = theirs > after ? 'behind' : 'ahead of';
  const told = `${Math.round(off)} s ${side} ${whose}`;
  if (off > FAIL_S) return { ...fail(told, REMEDY), stops: false };
  return off > WARN_S ? warn(told, REMEDY) : ok(`agrees with ${whose}`);
}
