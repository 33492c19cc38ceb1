import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { isOfScope, pageOfRejected } from '../../../src/store/destinations/rejected-events.ts';
import { ALL_SOURCES, covers, inScope, isInScope, type Scope } from '../../../src/store/server/scope.ts';
import { planOf } from '../../support/plan.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase();

describe('a scope', () => {
  it.each<[Scope, readonly string[]]>([
    [ALL_SOURCES, ['one', 'two', 'all', '']],
    [['one'], ['one']],
    [
      ['one', 'two'],
      ['one', 'two'],
    ],
    // A source may have any name.
    [['all'], ['all']],
    [["o'ne", '{one}', 'one,two'], []],
    [[], []],
  ])('%j contains the same sources in the program and in the database', async (scope, expected) => {
    const sources = ['one', 'two', 'all', ''];
    const rows = await test.query<{ source: string }>`
      select source from unnest(${sources}::text[]) as known (source) where ${inScope(scope)}`;
    expect(rows.map(({ source }) => source)).toEqual(expected);
    expect(sources.filter((source) => isInScope(scope, source))).toEqual(expected);
  });

  it('covers a scope that has no more sources', () => {
    expect(covers(ALL_SOURCES, ALL_SOURCES)).toBe(true);
    expect(covers(ALL_SOURCES, ['one'])).toBe(true);
    expect(covers(['one', 'two'], ['two'])).toBe(true);
    expect(covers(['one'], ['one', 'two'])).toBe(false);
    expect(covers(['all'], ALL_SOURCES)).toBe(false);
    expect(covers([], [])).toBe(true);
    expect(covers([], ALL_SOURCES)).toBe(false);
  });
});

describe('rejected events of some sources', () => {
  const EVENTS = 20_000;

  it('are looked up one by one: the events of a source are not read for them', async () => {
    await test.query`insert into audit_events
        (occurred_at, received_at, event_id, delivery_id, source, message_type, origin, payload)
      select '2026-03-01'::timestamptz + n * interval '1 second', now(), gen_random_uuid(), gen_random_uuid(),
        'source-' || n % 2, 'AUDIT_LOG_ALL', 'webhook', '{}'
      from generate_series(1, ${EVENTS}::int) as n`;
    await test.query`insert into rejected_events (destination, event_id, occurred_at, message_type, reason)
      select 'siem', event_id, occurred_at, message_type, source from audit_events
      order by occurred_at limit 100`;
    await test.query`analyze`;
    const page = await pageOfRejected(test.db, ['source-1'], 'siem', 1_000);
    expect(new Set(page.map(({ reason }) => reason))).toEqual(new Set(['source-1']));
    expect(page).toHaveLength(50);
    const text = await planOf(test.db, sql`select from rejected_events where ${isOfScope(['source-1'])}`);
    expect(text).toMatch(/Index Scan using audit_events_default_pkey/);
    expect(text).not.toMatch(/Seq Scan on audit_events_default/);
  });
});
