import { Client } from 'pg';

/** Held until released, or until the process dies in whatever way: the lock belongs to the connection. */
export interface InstanceLock {
  release(): Promise<void>;
}

/** Advisory lock key of "a `serve` runs on this embedded database". */
const INSTANCE_LOCK = 0x78697169;

/**
 * The database of the lock. Every role may take an advisory lock, but only in a database that it may connect to: the
 * events are in another one, which is all that the reading role needs.
 */
export const LOCK_DATABASE = 'postgres';

/** Keeps all roles but this one out of the database of the lock. Needs its owner's connection; may be repeated. */
export async function reserveLockDatabase(
  client: Pick<Client, 'query' | 'escapeIdentifier'>,
  role: string,
): Promise<void> {
  await client.query(`revoke connect, temporary on database ${LOCK_DATABASE} from public`);
  await client.query(`grant connect on database ${LOCK_DATABASE} to ${client.escapeIdentifier(role)}`);
}

/** Takes the lock that only one `serve` may hold. Undefined if another one holds it. */
export async function takeInstanceLock(lockDatabaseUrl: string): Promise<InstanceLock | undefined> {
  const client = new Client({
    connectionString: lockDatabaseUrl,
    application_name: 'xiq-sink instance',
    keepAlive: true,
  });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
    INSTANCE_LOCK,
  ]);
  if (rows[0]?.taken === true) return { release: () => client.end() };
  await client.end();
  return undefined;
}
