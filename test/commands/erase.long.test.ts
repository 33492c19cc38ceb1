import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { endOfCommand } from '../support/command.ts';
import { openSealedLog, type SealedLog } from '../support/sealed-log.ts';
import { useDatabase } from '../support/use-database.ts';

const test = useDatabase({ isVaried: true });
let log: SealedLog;
beforeAll(async () => {
  log = await openSealedLog(test.service);
  await log.seal();
});

// An erasure waits for seconds until all workers know of it.
it('erase erases what it found, and records nothing of it', async () => {
  const run = (...words: string[]) =>
    endOfCommand(
      { DATABASE_URL: test.databaseUrl, DATA_DIR: log.directory },
      'erase',
      '--user',
      'Bob',
      ...words,
    );
  const erased = await run('--all-sources', '--reason', 'request 17', '--yes');
  expect(erased).toMatchObject({ code: 0, stdout: expect.stringMatching(/, [1-9]\d+ events\n/) as unknown });
  const { rows } = await sql<{ all: string }>`
    select string_agg(concat_ws(' ', subject, details::text, result::text), ' ') as all from operator_log`.execute(
    test.db,
  );
  expect(rows[0]?.all).toContain('request 17');
  expect(rows[0]?.all).not.toContain('Bob');
  expect((await run('--reason', 'x', '--yes')).stdout).toContain('nothing was found');
});
