import type { QueryResultRow } from 'pg';
import { withClient } from '../../src/store/server/postgres.ts';

/** Runs a statement on a connection of its own. Resolves with its rows. */
export const query = <Row extends QueryResultRow>(
  databaseUrl: string,
  text: string,
  values: unknown[] = [],
) => withClient(databaseUrl, async (client) => (await client.query<Row>(text, values)).rows);
