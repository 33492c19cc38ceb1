import { sql } from 'kysely';
import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { activity } from '../../../src/lib/activity.ts';
import { sendHint, listenForHints } from '../../../src/store/server/hints.ts';
import { useDatabase } from '../../support/use-database.ts';
import { waitFor } from '../../support/wait-for.ts';

const test = useDatabase();

it('wakes the pollers of other processes, again after its session has ended, and at the commit of its transaction', async () => {
  await using started = new AsyncDisposableStack();
  listenForHints(test.databaseUrl, pino({ level: 'silent' }), started);
  const stir = vi.spyOn(activity, 'stir');
  onTestFinished(() => stir.mockRestore());
  const untilHeard = () =>
    waitFor(async () => {
      const before = stir.mock.calls.length;
      await sendHint(test.db);
      return waitFor(() => stir.mock.calls.length > before, 200).catch(() => false);
    });
  await untilHeard();
  await test.query`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and query ilike 'listen %'`;
  await untilHeard();
  const before = stir.mock.calls.length;
  await test.db.transaction().execute(async (trx) => {
    await sendHint(trx);
    await sql`select pg_sleep(0.1)`.execute(trx);
    expect(stir).toHaveBeenCalledTimes(before);
  });
  await waitFor(() => stir.mock.calls.length > before);
});
