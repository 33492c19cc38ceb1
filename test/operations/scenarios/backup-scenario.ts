import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { z } from 'zod';
import { countDeliveries } from '../../faults/found.ts';
import { endOfProgram, killProgramWhen, runProgram, SECRET } from '../../support/program.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openAlone } from '../fleet.ts';
import type { Ground } from '../ground.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { postgresQueue } from '../waiting.ts';

/** A backup of a running service is killed; the next one, and a restore of it, know nothing of that. */
export const KILLED_BACKUP: Scenario = {
  name: 'kill -9 during a backup, then backup and restore',
  refusesNone: true,
  open: openBackup,
};

/** A backup is killed once so many bytes of the database are in it: at its beginning, and in its midst. */
const KILLED_AT = [0, 1024 ** 2];

const Restored = z.object({ verified_rows: z.number() });

async function openBackup({ directory, stack }: Ground): Promise<Stage> {
  const fleet = await openAlone({ directory, settings: {} }, stack);
  const { databaseUrl } = fleet;
  const settings = { DATA_DIR: path.join(directory, 'data'), WEBHOOK_SECRET: SECRET };
  const restored = {
    ...settings,
    DATA_DIR: path.join(directory, 'restored'),
    LOG_KEY_FILE: path.join(directory, 'log-key'),
  };
  const act = async () => {
    for (const [index, bytes] of KILLED_AT.entries()) {
      const killed = path.join(directory, `killed-${index}`);
      const copied = () => stat(path.join(killed, 'postgres.tar.zst')).catch(() => undefined);
      await killProgramWhen(async () => ((await copied())?.size ?? -1) >= bytes, settings, 'backup', killed);
      await untilNoSlot(databaseUrl);
      const again = await endOfProgram(settings, 'backup', killed);
      if (again.code === 0 || !again.stderr.includes('did not finish')) {
        throw new Error(`a backup over a killed one ended with ${again.code}: ${again.stderr}`);
      }
      const used = await endOfProgram(restored, 'restore', killed);
      if (used.code === 0 || !used.stderr.includes('is not a complete backup')) {
        throw new Error(`a restore of a killed backup ended with ${used.code}: ${used.stderr}`);
      }
    }
    const before = await countDeliveries(databaseUrl);
    const backup = path.join(directory, 'backup');
    await runProgram(settings, 'backup', backup);
    const printed = await runProgram(restored, 'restore', backup, '--json');
    const { verified_rows: rows } = Restored.parse(JSON.parse(printed));
    if (rows < before)
      throw new Error(`restored ${rows} rows; ${before} deliveries were stored before the backup`);
    await runProgram(restored, 'verify');
    return `${rows} rows restored and verified`;
  };
  return { fleet, databaseUrl, readQueue: postgresQueue(databaseUrl), act };
}

/** The server notices by itself that nobody reads any more, and then keeps no log for it. */
async function untilNoSlot(databaseUrl: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await waitFor(async () => (await client.query('select from pg_replication_slots')).rowCount === 0);
  await client.end();
}
