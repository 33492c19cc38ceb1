import { mkdir } from 'node:fs/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll } from 'vitest';
import { archiveMonth } from '../../src/archive/archive-month.ts';
import { monthsBefore } from '../../src/archive/archive-in-turn.ts';
import { openArchiveDatabase } from '../../src/archive/archive-database.ts';
import { Engine } from '../../src/archive/engine.ts';
import type { ArchiveFiles } from '../../src/archive/files/archive-files.ts';
import { DirectoryFiles } from '../../src/archive/files/directory-files.ts';
import type { ArchiveAccess } from '../../src/archive/read-archive.ts';
import type { Db } from '../../src/store/server/database.ts';
import { repeat } from '../../src/lib/repeat.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { SERVICE_ROLE } from '../support/roles.ts';
import type { FileDatabase } from '../support/use-database.ts';

export const OPERATOR = { name: 'tester', via: 'command' } as const;

/** All of the varied events are before this month. */
const AFTER_ALL = new Date('2026-10-01T00:00:00Z');

/** A sealed database with an archive beside it. */
export interface ArchivedMonths {
  readonly log: SealedLog;
  readonly access: ArchiveAccess;
  /** Reads events of the archive, too. */
  readonly events: Db;
  /** Archives every month. */
  archiveAll(before?: Date): Promise<void>;
}

/** Prepares the archive of a test file's database, in a directory unless it opens another place, while a sealer runs. */
export function useArchive(
  test: FileDatabase,
  openFiles: (directory: string) => ArchiveFiles = (directory) => new DirectoryFiles(directory),
): ArchivedMonths {
  const used: { months?: ArchivedMonths; stop?: () => Promise<void> } = {};
  beforeAll(async () => {
    // The superuser of the fixture has made these months.
    await sql`grant select, insert on all tables in schema public to ${sql.id(SERVICE_ROLE)}`.execute(
      test.db,
    );
    const log = await openSealedLog(test.service);
    await log.seal();
    const sealer = log.sealer();
    const sealing = repeat({
      pauseMs: 50,
      work: async () => void (await sealer.seal()),
      onError: () => undefined,
    });
    const directory = `${log.directory}/archive`;
    await mkdir(directory);
    const engine = new Engine(directory);
    const files = openFiles(directory);
    const access = { db: test.service, databaseUrl: test.databaseUrl, files, engine };
    const { db: events, close } = openArchiveDatabase(access);
    used.months = {
      log,
      access,
      events,
      async archiveAll(before = AFTER_ALL) {
        for (const month of await monthsBefore(test.service, before)) {
          await archiveMonth(access, month, OPERATOR);
        }
      },
    };
    used.stop = async () => {
      await close();
      await sealing.stop();
      await engine[Symbol.asyncDispose]();
    };
  });
  afterAll(() => used.stop?.());
  const months = (): ArchivedMonths => {
    if (used.months === undefined) throw new TypeError('the archive is not prepared yet');
    return used.months;
  };
  return {
    get log() {
      return months().log;
    },
    get access() {
      return months().access;
    },
    get events() {
      return months().events;
    },
    archiveAll: (before) => months().archiveAll(before),
  };
}
