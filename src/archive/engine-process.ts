import { DuckDBInstance } from '@duckdb/node-api';
import pLimit from 'p-limit';
import { z } from 'zod';

/*
 * DuckDB in a process of its own: its memory is bounded, and a fault of it ends no delivery. Its parent sends statements, one at a
 * time, and gets the rows of each, or its error.
 */

const Request = z.object({ id: z.number(), statement: z.string(), threads: z.number() });

const [, , memoryMib = '', directory = ''] = process.argv;
const instance = await DuckDBInstance.create(':memory:', {
  memory_limit: `${memoryMib}MiB`,
  threads: '1',
  temp_directory: directory,
  // No statement fetches anything or loads code.
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
});
const connection = await instance.connect();
// To read what a file contains takes 2 ms each time, and a year has hundreds.
await connection.run(
  `set timezone = 'UTC'; set enable_progress_bar = false; set parquet_metadata_cache = true`,
);

async function answer({ id, statement, threads }: z.output<typeof Request>): Promise<object> {
  try {
    // One processor alone would read all of the rows that have a limit, if they kept their order; those that are written keep it.
    await connection.run(`set threads = ${threads}; set preserve_insertion_order = ${threads === 1}`);
    const result = await connection.runAndReadAll(statement);
    return { id, rows: result.getRowObjectsJson() };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

const inTurn = pLimit(1);

process.on('message', (message) => {
  const request = Request.parse(message);
  void inTurn(async () => process.send?.(await answer(request)));
});
process.on('disconnect', () => process.exit());
process.send?.({ id: 0, rows: [] });
