import type { Config } from '../../config.ts';
import { openInspectingDatabase, type Db } from '../../store/database.ts';
import { hasCluster } from '../../embedded/cluster.ts';
import { locateDatabase } from '../../serve/open-store.ts';
import { LIMIT_MS } from './check.ts';

/** A query may take so much longer than the check that it belongs to. */
const MARGIN_MS = 1_000;

/** An open database, on which no migration was run. */
interface OpenedDatabase {
  readonly db: Db;
  readonly databaseUrl: string;
}

/** The configured database, if it exists. */
export interface DatabaseAccess {
  /** Opens it, and starts an embedded one that is not running. Undefined when it was never created. */
  open(): Promise<OpenedDatabase | undefined>;
  /** The database that `open` opened. Throws before that. */
  opened(): OpenedDatabase;
  /** Closes it, and stops an embedded server that `open` started. */
  close(): Promise<void>;
}

/** Access to the configured database for checks that take at most `limitMs`. */
export function createDatabaseAccess(config: Config, limitMs = LIMIT_MS): DatabaseAccess {
  let held: OpenedDatabase | undefined;
  let location: ReturnType<typeof locateDatabase> | undefined;
  return {
    async open() {
      if (config.databaseUrl === undefined && !hasCluster(config.dataDir)) return undefined;
      location = locateDatabase(config);
      const { databaseUrl } = await location;
      held = { databaseUrl, db: openInspectingDatabase(databaseUrl, () => undefined, limitMs + MARGIN_MS) };
      return held;
    },
    opened() {
      if (held === undefined) throw new Error('the database is not open yet');
      return held;
    },
    async close() {
      await held?.db.destroy();
      await (await location?.catch(() => undefined))?.close();
    },
  };
}
