import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../test/support/free-port.ts';
import { startChild } from './child.ts';
import { connectDatabase, postgresPid, startOpenPostgres } from './postgres.ts';
import type { Place, RunningTarget } from './target.ts';

/** The table that its output creates: the tag, the time, and the record as jsonb, without an index. */
const TABLE = 'fluentbit';

/** The version of the `fluent-bit` on PATH; undefined if there is none, or one without the plugins http and pgsql. */
export async function fluentBitVersion(): Promise<string | undefined> {
  try {
    const run = async (option: string) => (await promisify(execFile)('fluent-bit', [option])).stdout;
    const help = await run('--help');
    if (!/^\s+http\s/m.test(help) || !/^\s+pgsql\s/m.test(help)) return undefined;
    return /v(\d\S*)/.exec(await run('--version'))?.[1] ?? 'of an unknown version';
  } catch {
    return undefined;
  }
}

/**
 * Fluent Bit with its defaults: HTTP in, Postgres out. It answers once the records are in its memory, checks no secret,
 * and recognizes no redelivery. A row is a record, also of a location record with several observations.
 */
export async function startFluentBit(place: Place): Promise<RunningTarget> {
  const { databaseUrl } = await startOpenPostgres(place);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const config = path.join(place.directory, 'fluent-bit.yaml');
  // JSON is YAML.
  await writeFile(config, JSON.stringify(configOf(new URL(databaseUrl), port)));
  const pid = await startChild(
    {
      name: 'fluent-bit',
      command: 'fluent-bit',
      args: ['--config', config],
      env: {},
      // Any answer: it has no page for health checks.
      check: () => fetch(origin),
    },
    place,
  );
  const ask = await connectDatabase(databaseUrl, place);
  return {
    origin,
    secret: 'not checked',
    pid,
    servers: { Postgres: await postgresPid(place) },
    // The tag is the path of the request, with an underscore for each slash.
    countRows: async (messageType) =>
      Number(await ask(`select count(*) from ${TABLE} where tag like '%${messageType}'`)),
  };
}

function configOf({ hostname, port, username, password, pathname }: URL, listenPort: number): object {
  return {
    service: { flush: 1, log_level: 'warn' },
    pipeline: {
      inputs: [{ name: 'http', listen: '127.0.0.1', port: listenPort, successful_response_code: 200 }],
      outputs: [
        {
          name: 'pgsql',
          match: '*',
          host: hostname,
          port: Number(port),
          user: decodeURIComponent(username),
          password: decodeURIComponent(password),
          database: decodeURIComponent(pathname.slice(1)),
          table: TABLE,
        },
      ],
    },
  };
}
