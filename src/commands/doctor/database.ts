import { weaknessesOfPostgres } from '../../queue/postgres-engine.ts';
import { readServerFacts } from '../../store/database.ts';
import { readMigrationState } from '../../store/migrate.ts';
import { formatBytes } from './bytes.ts';
import { fail, ok, warn } from './check.ts';
import type { Finding } from './check.ts';
import type { DatabaseAccess } from './database-access.ts';

/** README: Postgres 14 and newer. */
const OLDEST_POSTGRES = 14;

/** Whether the database answers, is one that we work with, and keeps what it has acknowledged. */
export async function checkDatabase(access: DatabaseAccess): Promise<Finding> {
  const opened = await access.open();
  if (opened === undefined) return { ...warn('not set up yet', 'run: xiq-sink serve'), stops: true };
  const { majorVersion, version, isReadOnly, bytes } = await readServerFacts(opened.db);
  const told = `Postgres ${version}, ${formatBytes(bytes)}`;
  if (majorVersion < OLDEST_POSTGRES)
    return fail(told, `move to Postgres ${OLDEST_POSTGRES} or newer, and set DATABASE_URL`);
  if (isReadOnly) {
    return {
      ...fail(`${told}: takes no rows, it is read-only or a standby`, 'set DATABASE_URL to the primary'),
      stops: false,
    };
  }
  const weaknesses = await weaknessesOfPostgres(opened.databaseUrl);
  return weaknesses.length === 0
    ? ok(told)
    : warn(
        `${told}: ${weaknesses.join('; ')}`,
        'change the settings of the server, unless it holds nothing of worth',
      );
}

/** Whether the tables are those of this version. Applies nothing. */
export async function checkMigrations(access: DatabaseAccess): Promise<Finding> {
  const { applied, pending, unknown } = await readMigrationState(access.opened().db);
  if (unknown.length > 0) {
    return fail(
      `a newer xiq-sink has been here, and has applied ${unknown.join(', ')}`,
      'run that version, or restore a backup: migrations go forward only',
    );
  }
  if (pending.length > 0) {
    return fail(
      `${applied.length} applied, ${pending.length} pending: ${pending.join(', ')}`,
      'run: xiq-sink migrate (a start of serve does it, too)',
    );
  }
  return ok(`all ${applied.length} applied`);
}
