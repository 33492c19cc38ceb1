import { DuckDBInstance } from '@duckdb/node-api';
import pLimit from 'p-limit';
import { z } from 'zod';

/*
 * DuckDB in a process of its own: its memory is bounded, and a fault of it ends no delivery. Its parent sends statements, one at a
 * time, and gets the rows of each, or its error.
 */

const Settings = z.object({ memoryMib: z.string(), threads: z.string(), directory: z.string() });
const Request = z.object({ id: z.number(), statement: z.string() });

const settings = Settings.parse(JSON.parse(process.argv[2] ?? ''));
const instance = await DuckDBInstance.create(':memory:', {
  memory_limit: `${settings.memoryMib}MiB`,
  threads: settings.threads,
  temp_directory: settings.directory,
  // What is sorted is longer than the memory, and goes to files then.
  preserve_insertion_order: 'true',
  // No statement fetches anything or loads code.
  autoinstall_known_extensions: 'false',
  autoload_known_extensions: 'false',
});
const connection = await instance.connect();
await connection.run(`set timezone = 'UTC'; set enable_progress_bar = false`);

async function answer(id: number, statement: string): Promise<object> {
  try {
    const result = await connection.runAndReadAll(statement);
    return { id, rows: result.getRowObjectsJson() };
  } catch (error) {
    return { id, error: error instanceof Error ? error.message : String(error) };
  }
}

const inTurn = pLimit(1);

process.on('message', (message) => {
  const { id, statement } = Request.parse(message);
  void inTurn(async () => process.send?.(await answer(id, statement)));
});
process.on('disconnect', () => process.exit());
process.send?.({ id: 0, rows: [] });
