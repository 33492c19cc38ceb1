import { Client } from 'pg';

/** Advisory lock key of "a `serve` runs on this embedded database". */
const INSTANCE_LOCK = 0x78697169;

/** Held until released, or until the process dies in whatever way: the lock is the connection's. */
export interface InstanceLock {
  release(): Promise<void>;
}

/** Takes the lock that only one `serve` of an embedded database may hold. Undefined when another one has it. */
export async function takeInstanceLock(databaseUrl: string): Promise<InstanceLock | undefined> {
  const client = new Client({
    connectionString: databaseUrl,
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
