import type { Config } from '../../config.ts';
import type { Db } from '../../store/database.ts';
import { openInspectingDatabase } from '../../store/database.ts';
import { hasCluster } from '../../embedded/cluster.ts';
import { locateDatabase } from '../../serve/open-store.ts';
import { LIMIT_MS } from './check.ts';

/** The check that asks is over by then. */
const QUERY_LIMIT_MS = LIMIT_MS + 1_000;

/** A database that answers questions, and is not migrated. */
interface OpenedDatabase {
  readonly db: Db;
  readonly databaseUrl: string;
}

/** The database of the settings, as far as it is there. */
export interface DatabaseAccess {
  /** Opens it; an embedded one that does not run is started. Undefined when it was never set up. */
  open(): Promise<OpenedDatabase | undefined>;
  /** What `open` has opened. Throws before. */
  opened(): OpenedDatabase;
  /** Closes it, and stops what was started for it. */
  close(): Promise<void>;
}

export function createDatabaseAccess(config: Config): DatabaseAccess {
  let held: OpenedDatabase | undefined;
  let location: ReturnType<typeof locateDatabase> | undefined;
  return {
    async open() {
      if (config.databaseUrl === undefined && !(await hasCluster(config.dataDir))) return undefined;
      location = locateDatabase(config);
      const { databaseUrl } = await location;
      held = { databaseUrl, db: openInspectingDatabase(databaseUrl, () => undefined, QUERY_LIMIT_MS) };
      return held;
    },
    opened() {
      if (held === undefined) throw new Error('the database is asked before it is open');
      return held;
    },
    async close() {
      await held?.db.destroy();
      await (await location?.catch(() => undefined))?.close();
    },
  };
}
