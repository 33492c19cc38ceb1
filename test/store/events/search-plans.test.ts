import { CompiledQuery, sql, type RootOperationNode } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { exactTerms, parseSearch } from '../../../src/events/search-query.ts';
import { TABLE_OF } from '../../../src/events/message-types.ts';
import type { EventFilter } from '../../../src/store/events/event-filter.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { findEvents } from '../../support/find-events.ts';
import { ALL_SOURCES, type Scope } from '../../../src/store/server/scope.ts';
import { useDatabase } from '../../support/use-database.ts';

const ROWS = 20_000;
const UNTIL = new Date('2026-03-20T00:00:00Z');

const test = useDatabase();
beforeAll(async () => {
  await maintainPartitions(test.db, UNTIL, {});
  const columns = {
    audit_events: sql`user_name, code`,
    location_observations: sql`client_mac, ap_mac`,
    log_entries: sql`username, client_mac, ap_mac`,
    alerts_received: sql`alert_source_id`,
    other_events: sql`sent_type`,
  };
  const mac = (of: number) => sql`lpad(to_hex(n % ${of}::int), 12, '0')::macaddr`;
  const values = {
    audit_events: sql`'user' || n % 200, n % 200`,
    location_observations: sql`${mac(200)}, ${mac(190)}`,
    log_entries: sql`'user' || n % 200, ${mac(200)}, ${mac(190)}`,
    alerts_received: sql`'device' || n % 200`,
    other_events: sql`'NEWS_ALL'`,
  };
  for (const table of Object.values(TABLE_OF)) {
    await test.query`
      insert into ${sql.table(table)} (occurred_at, received_at, event_id, delivery_id, source, message_type, origin,
        payload, ${columns[table]})
      select ${UNTIL}::timestamptz - n * interval '3 minutes', now(), gen_random_uuid(), gen_random_uuid(), 's', 'T',
             'webhook', '{}', ${values[table]}
      from generate_series(1, ${ROWS}::int) as n`;
    await test.query`analyze ${sql.table(table)}`;
  }
});

const filterOf = (line: string): EventFilter => ({ terms: parseSearch(line).terms });

/** The plans of the queries that a search runs. */
async function plansOf(filter: EventFilter, scope: Scope = ALL_SOURCES): Promise<string[]> {
  const asked: RootOperationNode[] = [];
  const watched = test.db.withPlugin({
    transformQuery({ node }) {
      asked.push(node);
      return node;
    },
    transformResult: ({ result }) => Promise.resolve(result),
  });
  await findEvents(watched, scope, filter, { limit: 50 });
  const plans = asked.map(async (node) => {
    const { sql: text, parameters } = test.db.getExecutor().compileQuery(node, { queryId: 'of-a-search' });
    const { rows } = await test.db.executeQuery(CompiledQuery.raw(`explain ${text}`, [...parameters]));
    return z
      .array(z.object({ 'QUERY PLAN': z.string() }))
      .parse(rows)
      .map((row) => row['QUERY PLAN'])
      .join('\n');
  });
  return Promise.all(plans);
}

it.each<[Parameters<typeof exactTerms>[0], readonly string[]]>([
  [{ user: 'user7' }, ['fold_name_occurred_at']],
  [{ code: '7' }, ['code_occurred_at']],
  [{ mac: '000000000007' }, ['client_mac_occurred_at', 'ap_mac_occurred_at']],
  [{ ap: '000000000007' }, ['ap_mac_occurred_at']],
  [{}, ['pkey']],
])(
  'a search for %j follows indexes in their order: it neither sorts nor reads all rows',
  async (fields, indexes) => {
    for (const scope of [ALL_SOURCES, ['s'], ['s', 't', 'u']]) {
      const plans = (await plansOf({ terms: exactTerms(fields) }, scope)).join('\n');
      for (const index of indexes) expect(plans).toContain(index);
      expect(plans).not.toMatch(/->\s+Sort\s+\(/);
      expect(plans).not.toMatch(/Seq Scan on \w+_2026_0[23]/);
    }
  },
);

it.each(['user:USER7', 'user:user199*', 'user:nobody*', 'user:user7,USER199*'])(
  '%s is found by indexes',
  async (line) => {
    const plans = (await plansOf(filterOf(line))).join('\n');
    expect(plans).toMatch(/audit_events_2026_03_fold_name_occurred_at/);
    expect(plans).toMatch(/log_entries_2026_03_fold_name_occurred_at/);
    expect(plans).not.toMatch(/Seq Scan on \w+_2026_0[23]/);
  },
);

it('a search reads no partition that its time range excludes, and without one the newest first', async () => {
  const range = { since: new Date('2026-02-10T00:00:00Z'), until: new Date('2026-02-11T00:00:00Z') };
  for (const line of ['', 'user:user7', 'text:nowhere']) {
    const plans = (await plansOf({ ...range, ...filterOf(line) })).join('\n');
    expect(plans).toMatch(/ on \w+_2026_02/);
    expect(plans).not.toMatch(/ on \w+_(2026_0[13456]|default)/);
  }
  const [first, ...others] = await plansOf({});
  expect(first).toContain('2026_02');
  expect(others.join('\n')).not.toMatch(/ on \w+_2026_02/);
});
