import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { maskConfig, type Config } from '../config.ts';
import type { Db } from '../store/database.ts';
import { lastEnded, recordEnded } from '../store/operator-log.ts';
import type { Role } from './roles.ts';

/**
 * Records a start of the service in the operator log, with its settings without secrets, and what differs from the last
 * start of this role.
 */
export async function recordStart(db: Db, config: Config, role: Role): Promise<void> {
  // As the log returns them: without those that are not set.
  const settings = anyObject.parse(JSON.parse(JSON.stringify(maskConfig(config))));
  const last = await lastEnded(db, 'service.start', role);
  const operator = { name: 'xiq-sink', via: 'system' } as const;
  const changed = last === undefined ? undefined : differencesOf(last['settings'], settings);
  const details = changed === undefined ? {} : { changed };
  await recordEnded(
    db,
    { operator, action: 'service.start', subject: role, details },
    { outcome: 'done', result: { settings } },
  );
}

const anyObject = z.record(z.string(), z.unknown());

/** Each setting that differs, with its old and new value; null if it was or is not set. */
function differencesOf(before: unknown, after: Readonly<Record<string, unknown>>) {
  const old = anyObject.catch({}).parse(before);
  const names = [...new Set([...Object.keys(old), ...Object.keys(after)])];
  return Object.fromEntries(
    names
      .filter((name) => !isDeepStrictEqual(old[name], after[name]))
      .map((name) => [name, { from: old[name] ?? null, to: after[name] ?? null }]),
  );
}
