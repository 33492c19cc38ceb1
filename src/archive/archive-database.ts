import pLimit from 'p-limit';
import { openKept, type PoolName } from '../store/server/database.ts';
import type { Client } from '../store/server/postgres.ts';
import type { Prepared } from '../store/server/read-only-query.ts';
import { ArchiveReader, type ArchiveAccess } from './read-archive.ts';

/** How long a session that found no archive does not look for one. */
const UNTIL_NEXT_LOOK_MS = 10_000;

/**
 * Opens connections by which every statement reads archived events together with the live ones. They are for reading: what
 * such a statement changes, it changes in the live tables alone. They have the limits of the pool, or none.
 */
export function openArchiveDatabase(access: ArchiveAccess, pool?: PoolName) {
  /** With the number of sessions of each. */
  const readers = new Map<ArchiveReader, number>();
  const opening = pLimit(1);
  let shared: ArchiveReader | undefined;
  const open = () =>
    opening(async () => {
      const reader = shared ?? (await ArchiveReader.open(access));
      if (reader === undefined) return undefined;
      if (access.readsOn === true) shared = reader;
      readers.set(reader, (readers.get(reader) ?? 0) + 1);
      return reader;
    });
  const close = (reader: ArchiveReader) => {
    // What ended the session may have ended the connection of the reader: the next session gets another one.
    if (shared === reader) shared = undefined;
    const others = (readers.get(reader) ?? 0) - 1;
    if (others > 0) readers.set(reader, others);
    else if (readers.delete(reader)) void reader[Symbol.asyncDispose]();
  };
  const db = openKept(access.databaseUrl, (client) => readArchive(client, open, close), pool);
  return {
    db,
    close: async () => {
      await db.destroy();
      for (const reader of readers.keys()) await reader[Symbol.asyncDispose]();
    },
  };
}

/**
 * Lets a connection run the next statement of its transaction over the archive, too. Close what it returns after that.
 */
export const readsArchive =
  (access: ArchiveAccess) =>
  async (client: Client, statement: string): Promise<Prepared | undefined> => {
    const began = performance.now();
    const reader = await ArchiveReader.open(access);
    if (reader === undefined) return undefined;
    try {
      await client.query(reader.searchPath('transaction'));
      const run = async (text: string, values?: unknown[]) =>
        (await client.query<Readonly<Record<string, unknown>>>(text, values)).rows;
      const { text, rows } = await reader.prepare(run, statement);
      return {
        statement: text,
        archived: rows === 0 ? undefined : { rows, milliseconds: performance.now() - began },
        async [Symbol.asyncDispose]() {
          await reader[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      // Its locks are on what is dropped now.
      await client.query('rollback').catch(() => undefined);
      await reader[Symbol.asyncDispose]();
      throw error;
    }
  };

interface Result {
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

type Query = (this: Client, ...parameters: readonly unknown[]) => Promise<Result>;

/** Lets a connection read the archive, from when there is one until the connection ends. */
function readArchive(
  client: Client,
  open: () => Promise<ArchiveReader | undefined>,
  close: (reader: ArchiveReader) => void,
): void {
  const original: { readonly query: Query } = client;
  const send = original.query;
  const run = async (text: string, values?: unknown[]) => (await send.call(client, text, values)).rows;
  let reader: ArchiveReader | undefined;
  let lookedAt = -Infinity;

  /** Between transactions: a path that is set in one goes with it, if that is rolled back. */
  async function look(): Promise<void> {
    if (reader !== undefined || performance.now() < lookedAt + UNTIL_NEXT_LOOK_MS) return;
    lookedAt = performance.now();
    const opened = await open();
    if (opened === undefined) return;
    try {
      await run(opened.searchPath('session'));
    } catch (error) {
      // The connection may have ended meanwhile, and does not end once more.
      close(opened);
      throw error;
    }
    reader = opened;
  }

  async function query(text: string, values: unknown[] | undefined): Promise<Result> {
    if (client.getTransactionStatus() !== 'T') await look();
    const sent = (statement: string) => send.call(client, statement, values);
    return reader === undefined ? sent(text) : reader.start(run, text, values, sent);
  }

  client.once('end', () => {
    if (reader !== undefined) close(reader);
  });
  Object.assign(client, {
    query(text: unknown, values: unknown, ...rest: readonly unknown[]): Promise<Result> {
      // The pool's own queries come with a callback, and COPY and cursors as objects.
      const isStatement = typeof text === 'string' && typeof values !== 'function' && rest.length === 0;
      if (!isStatement) return send.call(client, text, values, ...rest);
      return query(text, Array.isArray(values) ? values : undefined);
    },
  });
}
