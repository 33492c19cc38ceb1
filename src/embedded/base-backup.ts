import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { copyOut } from '../store/server/postgres-copy.ts';
import { withClient } from '../store/server/postgres.ts';
import { giveToServer, markRestoring, openCluster, stopServer, type Cluster } from './cluster.ts';
import { bootstrapUrl, CREDENTIALS_FILE, keepCredentials } from './credentials.ts';
import { serverCommand } from './server-user.ts';

/** The file of credentials in a data directory: a copy of the database needs them. */
export const credentialsOf = (dataDir: string) => path.join(dataDir, 'postgres', CREDENTIALS_FILE);

/** Called with the bytes of the database that were copied, and the estimated number of all. */
export type OnCopied = (done: number, total: number) => void;

/**
 * Copies the running database of a data directory to a file: a tar archive, compressed with Zstandard. The server itself
 * makes it (BASE_BACKUP, as for pg_basebackup), verifies the checksum of each page and adds the log that the copy needs:
 * what was committed before the end is in it. Resolves with the end's place in the log, and the bytes before compression.
 */
export async function writeBaseBackup(
  dataDir: string,
  file: string,
  onCopied: OnCopied,
  signal: AbortSignal,
): Promise<{ readonly endLsn: string; readonly bytes: number }> {
  const { home } = await openCluster(dataDir);
  const url = `${bootstrapUrl(await keepCredentials(home))}?replication=true`;
  return withClient(url, async (client) => {
    client.on('error', () => undefined);
    // Until the connection ends, the server keeps the log that the copy needs.
    await client.query(
      `CREATE_REPLICATION_SLOT xiq_sink_backup_${process.pid} TEMPORARY PHYSICAL RESERVE_WAL`,
    );
    const rows: (readonly (string | null)[])[] = [];
    const messages = copyOut(
      client,
      `BASE_BACKUP (label 'xiq-sink backup', checkpoint 'fast', progress, wal, manifest 'no')`,
      { onRow: (fields) => rows.push(fields) },
    );
    let bytes = 0;
    const archive = archiveIn(messages, (more) => {
      bytes += more;
      // The second row has the size of the database in KiB. The log comes on top.
      onCopied(bytes, Math.max(bytes, Number(rows[1]?.[2] ?? 0) * 1024));
    });
    try {
      await pipeline(
        archive,
        createZstdCompress(),
        createWriteStream(file, { mode: 0o600, flags: 'wx', flush: true }),
        { signal },
      );
    } catch (error) {
      client.connection.stream.destroy();
      throw error;
    }
    return { endLsn: rows.at(-1)?.[0] ?? '', bytes };
  });
}

/** PostgreSQL manual, "Streaming Replication Protocol", BASE_BACKUP: each message begins with its type. */
async function* archiveIn(
  messages: AsyncIterable<Buffer>,
  onData: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  let archives = 0;
  for await (const message of messages) {
    const type = String.fromCharCode(message[0] ?? 0);
    if (type === 'n') archives += 1;
    if (archives > 1)
      throw new Error('the database has a separate tablespace, which a backup does not include');
    if (type !== 'd') continue;
    yield message.subarray(1);
    onData(message.length - 1);
  }
}

/**
 * Makes a data directory ready for a copy of the database, and marks it as being restored. Removes the database that an
 * interrupted restore has left, and stops its server.
 */
export async function beginRestore(dataDir: string): Promise<Cluster> {
  const cluster = await openCluster(dataDir);
  await markRestoring(cluster, true);
  // After a crash of the machine, there is none.
  await stopServer(cluster, 'immediate').catch(() => undefined);
  await rm(cluster.directory, { recursive: true, force: true });
  return cluster;
}

/** Unpacks a copy of the database. Nothing but `restore` starts it before `markRestoring` says that it is complete. */
export async function unpackBaseBackup(cluster: Cluster, file: string, signal: AbortSignal): Promise<void> {
  const { directory, user } = cluster;
  await mkdir(directory, { mode: 0o700 });
  await giveToServer(cluster, directory);
  const { command, args, options } = serverCommand(user, 'tar', ['-x', '-f', '-', '-C', directory]);
  const tar = spawn(command, args, { ...options, stdio: ['pipe', 'ignore', 'pipe'] });
  let complaint = '';
  tar.stderr.on('data', (text: Buffer) => (complaint += text.toString()));
  const closed = once(tar, 'close');
  // If tar ends early, writing to it fails too, and its own words say why.
  const written = pipeline(createReadStream(file), createZstdDecompress(), tar.stdin, { signal }).catch(
    (error: unknown) => error,
  );
  await closed;
  const failure = await written;
  if (tar.exitCode !== 0 || failure !== undefined) {
    throw new Error(`tar could not unpack ${file}${complaint && `: ${complaint.trim()}`}`, {
      cause: failure,
    });
  }
}
