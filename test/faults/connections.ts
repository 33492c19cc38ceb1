import { Client } from 'pg';

/** Between two attempts to take what another program took first. */
const ROUNDS = 20;

/** Takes every connection that a Postgres allows, those of other programs as well, and holds them meanwhile. */
export async function holdAllConnections(databaseUrl: string, meanwhile: () => Promise<void>): Promise<void> {
  const held: Client[] = [];
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      await takeFree(databaseUrl, held);
      const { rowCount } = await terminateOthers(held);
      if (rowCount === 0) break;
    }
    await meanwhile();
  } finally {
    await Promise.allSettled(held.map((client) => client.end()));
  }
}

async function takeFree(databaseUrl: string, held: Client[]): Promise<void> {
  for (;;) {
    const client = new Client({ connectionString: databaseUrl, application_name: 'fault' });
    client.on('error', () => undefined);
    try {
      await client.connect();
    } catch {
      // Too many clients: that is what was wanted.
      return;
    }
    held.push(client);
  }
}

async function terminateOthers([first]: readonly Client[]) {
  if (first === undefined) throw new Error('not one connection could be had');
  return first.query(`
    select pg_terminate_backend(pid) from pg_stat_activity
    where backend_type = 'client backend' and application_name <> 'fault'`);
}
