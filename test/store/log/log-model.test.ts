import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { assignPositions } from '../../../src/store/log/extend-log.ts';
import { openLog } from '../../../src/store/log/read-log.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { useDatabase } from '../../support/use-database.ts';
import { runs } from '../../support/runs.ts';

const WRITERS = 3;

const test = useDatabase();
let writers: Client[];
beforeAll(async () => {
  writers = Array.from({ length: WRITERS }, () => new Client({ connectionString: test.databaseUrl }));
  await Promise.all(writers.map((writer) => writer.connect()));
});
afterAll(() => Promise.all(writers.map((writer) => writer.end())));

/** What a writer or the sequencers do next. */
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('store' as const), writer: fc.nat(WRITERS - 1) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('commit' as const), writer: fc.nat(WRITERS - 1) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('roll back' as const), writer: fc.nat(WRITERS - 1) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('extend' as const),
      holdMs: fc.constantFrom(0, 1, 5),
      step: fc.constantFrom(20, 100, 20_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'extend twice' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'fail to extend' as const }) },
);

/** The event ids in the log from a position on. */
async function readIds(from: number): Promise<string[]> {
  const log = openLog(test.db);
  const { next } = await log.range();
  const entries = await log.read(from, next - from);
  expect(entries.map(({ position }) => position)).toEqual(entries.map((_, index) => from + index));
  return entries.map(({ eventId }) => eventId ?? 'erased');
}

/** Extends the log in a transaction whose last statement fails, after the tiles are written. */
async function failToExtend(): Promise<void> {
  await test.query`alter table log_state add constraint crash check (next_position < 0) not valid`;
  await expect(assignPositions(test.db)).rejects.toThrow('crash');
  await test.query`alter table log_state drop constraint crash`;
}

it('the log has each committed event once, never changes, and has no gaps, whatever happens meanwhile', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      await untilSeen(test.db);
      const { next: from } = await openLog(test.db).range();
      const committed = new Set<string>();
      const open: (string[] | undefined)[] = writers.map(() => undefined);
      let seen: string[] = [];
      const finish = async (writer: number, how: 'commit' | 'rollback') => {
        await writers[writer]?.query(how);
        if (how === 'commit') for (const id of open[writer] ?? []) committed.add(id);
        open[writer] = undefined;
      };
      for (const one of steps) {
        switch (one.kind) {
          case 'store': {
            const { writer } = one;
            if (open[writer] === undefined) await writers[writer]?.query('begin; select begin_storing()');
            const ids = Array.from({ length: 1 + (seen.length % 90) }, () => randomUUID());
            await writers[writer]?.query(INSERT, [ids]);
            open[writer] = [...(open[writer] ?? []), ...ids];
            break;
          }
          case 'commit':
            if (open[one.writer] !== undefined) await finish(one.writer, 'commit');
            break;
          case 'roll back':
            if (open[one.writer] !== undefined) await finish(one.writer, 'rollback');
            break;
          case 'extend':
            await assignPositions(test.db, one.holdMs, one.step);
            break;
          case 'extend twice':
            await Promise.all([assignPositions(test.db, 1), assignPositions(test.db)]);
            break;
          case 'fail to extend':
            await failToExtend();
            break;
        }
        const now = await readIds(from);
        expect(now.slice(0, seen.length)).toEqual(seen);
        expect(now.every((id) => committed.has(id))).toBe(true);
        seen = now;
      }
      for (const [writer, ids] of open.entries()) if (ids !== undefined) await finish(writer, 'commit');
      await untilSeen(test.db);
      const all = await readIds(from);
      expect(all.slice(0, seen.length)).toEqual(seen);
      expect(all.toSorted()).toEqual([...committed].toSorted());
      const rows = await test.query<{ bad: number }>`
        select count(*)::int as bad from log_tiles
        where first / 256 < (select next_position from log_state) / 256 and cardinality(kinds) + first % 256 > 256`;
      expect(rows).toEqual([{ bad: 0 }]);
    }),
    { numRuns: runs(25) },
  );
});

const INSERT = `
  insert into audit_events (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
  select '2026-03-01T09:00:00Z', now() - random() * interval '100 ms', id, gen_random_uuid(), 's', 'AUDIT_LOG_ALL', 'webhook', '{}'
  from unnest($1::uuid[]) as id`;
