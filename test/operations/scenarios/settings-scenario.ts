import { Client } from 'pg';
import { SERVICE_ROLE } from '../../support/roles.ts';
import { openWholeFleet, restartEach } from '../fleet.ts';
import type { Ground } from '../ground.ts';
import type { Scenario, Stage } from '../scenario.ts';
import { redisQueue } from '../waiting.ts';

/** What the sessions of the service would begin with: each of these has broken a program. */
const HOSTILE: Readonly<Record<string, string>> = {
  datestyle: 'German, DMY',
  timezone: 'Australia/Lord_Howe',
  intervalstyle: 'sql_standard',
  extra_float_digits: '-15',
  bytea_output: 'escape',
  standard_conforming_strings: 'off',
  search_path: 'pg_catalog',
  row_security: 'off',
  default_transaction_isolation: 'serializable',
  statement_timeout: '20ms',
  lock_timeout: '1ms',
  idle_in_transaction_session_timeout: '20ms',
  jit_above_cost: '0',
};

/** A database whose settings for the service's role are all changed while it runs. */
export const HOSTILE_SETTINGS: Scenario = {
  name: 'hostile settings of the role',
  refusesNone: true,
  open: openHostile,
};

async function openHostile(ground: Ground): Promise<Stage> {
  const { databaseUrl, redis, fleet } = await openWholeFleet(ground);
  const act = async () => {
    const admin = new Client({ connectionString: databaseUrl });
    await admin.connect();
    const role = `role ${SERVICE_ROLE} in database ${new URL(databaseUrl).pathname.slice(1)}`;
    for (const [name, value] of Object.entries(HOSTILE)) {
      await admin.query(`alter ${role} set ${name} = '${value}'`);
    }
    await restartEach(fleet.members);
    await ground.wait(ground.pace.lasting);
    // The judge has a session of this role, too.
    await admin.query(`alter ${role} reset all`);
    await admin.end();
    return undefined;
  };
  return { fleet, databaseUrl, readQueue: redisQueue(() => [redis.port]), act };
}
