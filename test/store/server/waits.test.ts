import { sql } from 'kysely';
import { expect, it, onTestFinished } from 'vitest';
import { describeSession, describeWork, type Session } from '../../../src/store/server/server-sessions.ts';
import {
  describeTableLock,
  findObstacles,
  findTableUsers,
  findWaits,
} from '../../../src/store/server/waits.ts';
import { useDatabase } from '../../support/use-database.ts';
import { waitFor } from '../../support/wait-for.ts';

const test = useDatabase();

it('whom a statement of the service waits for is named, and the table that is locked', async () => {
  expect(await describeTableLock(test.db)).toBeUndefined();
  const holder = await test.db.startTransaction().execute();
  // Also of a test that failed: nobody could drop its database.
  onTestFinished(async () => {
    if (!holder.isRolledBack) await holder.rollback().execute();
  });
  await sql`lock table audit_events, log_state in access exclusive mode`.execute(holder);
  const isHolder = /^pid \d+ \(xiq-sink, user \w+\), in a transaction for \d s$/;
  const locked = await describeTableLock(test.db);
  expect(locked?.replace('the table audit_events is locked by ', '')).toMatch(isHolder);

  const waiting = test.service.selectFrom('log_state').selectAll().execute();
  const blockers = await waitFor(async () => {
    const found = await findObstacles(test.service, 0);
    return found.blockers.length > 0 ? found.blockers : undefined;
  });
  expect(blockers.map(describeSession)).toEqual([expect.stringMatching(isHolder)]);
  // Not for long yet.
  expect(await findObstacles(test.service, 10)).toEqual({ standby: false, blockers: [] });
  expect(await findWaits(test.service)).toEqual([]);
  expect(await findTableUsers(test.service, ['deliveries'])).toEqual([]);
  expect(await findTableUsers(test.service, [])).toEqual([]);
  await holder.rollback().execute();
  expect(await waiting).toHaveLength(1);
});

const SESSION: Session = {
  pid: 7,
  application: 'psql',
  user: 'ada',
  seconds: 120,
  state: 'idle in transaction',
  query: 'select\n  1',
};

it.each<[string, Partial<Session>]>([
  ['pid 7 (psql, user ada), in a transaction for 2 min', {}],
  ['pid 7 (ada), in a transaction for 2 min', { application: '' }],
  ['pid 7 (psql, user ada)', { seconds: null }],
  ['a prepared transaction (see pg_prepared_xacts)', { pid: null }],
  [
    'autovacuum of public.audit_events (pid 7)',
    { seconds: null, query: 'autovacuum: VACUUM public.audit_events' },
  ],
  ['pid 7 (a process of the server, such as autovacuum)', { seconds: null, user: null, query: null }],
])('a session is described as %s', (text, session) => {
  expect(describeSession({ ...SESSION, ...session })).toBe(text);
});

it('the work of a session is described with its statement, unless that may not be seen', () => {
  expect(describeWork(SESSION)).toMatch(/ for 2 min; idle in transaction: select 1$/);
  expect(describeWork({ ...SESSION, state: null })).toMatch(/ for 2 min$/);
});
