import { glob, readFile } from 'node:fs/promises';
import * as fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { alertRuleSchema } from '../../../src/alerts/alert-rule.ts';
import { createEvaluator } from '../../../src/alerts/evaluate-rule.ts';
import { findErasable } from '../../../src/erasure/erase-person.ts';
import { createSearchMatch } from '../../../src/events/match-search.ts';
import { parseSearch, type EventTerm } from '../../../src/events/search-query.ts';
import { fold } from '../../../src/lib/text/fold.ts';
import { listDirectory, readDirectoryEntry } from '../../../src/store/counts/read-directory.ts';
import { rollUpSeen } from '../../../src/store/counts/roll-up-seen.ts';
import { countFacet } from '../../../src/store/events/facets.ts';
import { searchEvents } from '../../../src/store/events/search-events.ts';
import { summarizeClient, summarizeUser } from '../../../src/store/events/timeline.ts';
import { namesAsOf, saveInventory } from '../../../src/store/reconcile/inventory.ts';
import { readReport, reportOf } from '../../../src/store/reports/reports.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { storeDeliveries } from '../../support/actions.ts';
import { auditRecord, queuedDelivery } from '../../support/deliveries.ts';
import { planOf } from '../../support/plan.ts';
import { untilSeen } from '../../support/until-seen.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase({ logs: true });

/** What fold() of the database makes of each text. */
async function foldedThere(texts: readonly string[]): Promise<readonly string[]> {
  const rows = await test.query<{ folded: string }>`
    select fold(text) as folded from json_array_elements_text(${JSON.stringify(texts)}) with ordinality as one (text, number)
    order by number`;
  return rows.map(({ folded }) => folded);
}

describe('fold() of the database', () => {
  it('is fold() here, for each character', async () => {
    const points = Array.from({ length: 0x110000 }, (_, point) => point).filter(
      (point) => point > 0 && (point < 0xd800 || point > 0xdfff),
    );
    const texts = Map.groupBy(points, (point) => point >> 12)
      .values()
      .map((some) =>
        some
          .map((point) => String.fromCodePoint(point))
          .join(some.some((point) => point < 0x40000) ? '-' : ''),
      )
      .toArray();
    expect(await foldedThere(texts)).toEqual(texts.map(fold));
  });

  it('is fold() here, for texts of characters that change each other', async () => {
    const range = (from: number, to: number) =>
      fc.integer({ min: from, max: to }).map((point) => String.fromCodePoint(point));
    const character = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
      fc.constantFrom(
        ...Array.from(
          'aiIjıİßẞΣσςﬁ\u0307\u0345\u1e9b\u200d\u034f\u11a7\u{1f600}\u0897\u1ae0\u{105d2}\u{1ccd6}',
        ),
      ),
      range(0x41, 0x24f),
      range(0x300, 0x36f),
      range(0x370, 0x52f),
      range(0x590, 0x8ff),
      range(0x1100, 0x11ff),
      range(0x1e00, 0x1fff),
      range(0xac00, 0xac20),
      range(0xff00, 0xffef),
    );
    const text = fc
      .array(
        fc.oneof(
          { weight: 20, arbitrary: character },
          character.map((one) => one.repeat(40)),
        ),
        { maxLength: 12 },
      )
      .map((characters) => characters.join('').replaceAll('\0', ''));
    await fc.assert(
      fc.asyncProperty(fc.array(text, { minLength: 200, maxLength: 200 }), async (texts) => {
        expect(await foldedThere(texts)).toEqual(texts.map(fold));
      }),
      { numRuns: 8 },
    );
  });

  it('works where no schema is searched, as in ANALYZE, CREATE INDEX and a restored dump', async () => {
    const names = ['MÜLLER', 'MÜLLER\u{1ccd6}'];
    const { rows } = await test.db.transaction().execute(async (trx) => {
      await sql`set local search_path = ''`.execute(trx);
      return sql`select public.fold_name(name) as folded from unnest(${names}::text[]) as name`.execute(trx);
    });
    expect(rows).toEqual(names.map((name) => ({ folded: fold(name) })));
  });

  it('is written out by the planner, so that plain ASCII costs what lower() does', async () => {
    const plan = await planOf(test.db, sql`select fold_name(user_name) from audit_events_default`);
    expect(plan).toMatch(/"left"|fold_unicode/);
    expect(plan).not.toContain('fold_name(');
  });
});

it('the names of people are compared by nothing else', async () => {
  for await (const file of glob('src/store/**/*.ts')) {
    expect(await readFile(file, 'utf8')).not.toMatch(/(?<![\w.])lower\([^)]*user/i);
  }
});

describe('one person with several spellings', () => {
  const SPELLINGS = ['Müller', 'MÜLLER', 'Mu\u0308ller', 'Ｍüller'];
  const now = Date.now();
  const range = { since: new Date(now - 3_600_000), until: new Date(now + 3_600_000) };
  const termsOf = (line: string): readonly EventTerm[] => parseSearch(line).terms ?? [];
  const PAGE = { limit: 100, order: 'newest' } as const;
  const [client, zone, scope] = ['aa:bb:cc:00:11:22', 'UTC', ALL_SOURCES];

  it('is one in search, filters, directory, timeline, reports, inventory, rules and erasure', async () => {
    const others = ['Muller', 'Möller'];
    const audits = [...SPELLINGS, ...others].map((userName) =>
      auditRecord({ userName, code: 10_001, timeStamp: now }),
    );
    const logins = SPELLINGS.map((username) => ({
      username,
      callingStationId: client,
      timeStamp: now,
      reply: 'Access-Accept',
    }));
    await storeDeliveries(
      test.service,
      queuedDelivery('AUDIT_LOG_ALL', audits),
      queuedDelivery('AUTHENTICATION_LOG_ALL', logins),
    );
    await untilSeen(test.db);
    while ((await rollUpSeen(test.service))?.isBehind !== false);

    const ofAudit = termsOf('type:AUDIT_LOG_ALL');
    const asked: readonly (readonly EventTerm[])[] = [
      termsOf('user:müller'),
      termsOf('user:ＭÜLL*'),
      [{ key: 'column', column: 'user_name', patterns: ['mu\u0308l*er'] }],
    ];
    for (const one of asked) {
      const terms = [...ofAudit, ...one];
      const { events } = await searchEvents(test.service, scope, { terms }, PAGE);
      expect(events).toHaveLength(SPELLINGS.length);
      expect(events.every(createSearchMatch(terms))).toBe(true);
    }
    const facet = await countFacet(test.service, scope, { terms: [], ...range }, 'user', 10);
    expect(facet.values.map(({ count }) => count)).toEqual([2 * SPELLINGS.length, 1, 1]);

    const kinds = ['administrator', 'user'] as const;
    const entries = await listDirectory(test.service, scope, {
      kinds,
      prefixes: ['MÜ'],
      order: 'name',
      limit: 10,
    });
    expect(entries.map(({ kind, key, events }) => [kind, key, events])).toEqual([
      ['administrator', 'müller', SPELLINGS.length],
      ['user', 'müller', SPELLINGS.length],
    ]);
    expect(await readDirectoryEntry(test.service, scope, 'user', 'Mu\u0308ller')).toBeDefined();

    const summary = await summarizeUser(test.service, scope, 'MÜLLER', range.since, range.until);
    expect(summary.countsByType).toEqual({
      AUDIT_LOG_ALL: SPELLINGS.length,
      AUTHENTICATION_LOG_ALL: SPELLINGS.length,
    });
    const ofClient = await summarizeClient(test.service, scope, client, range.since, range.until);
    expect(ofClient.users.map(({ count }) => count)).toEqual([SPELLINGS.length]);

    const report = { ...range, zone, scope };
    const administrators = await readReport(test.service, reportOf('logins'), report, 10);
    expect(administrators.map(({ Logins: count }) => count)).toEqual([String(SPELLINGS.length), '1', '1']);
    const access = await readReport(test.service, reportOf('access'), { ...report, user: 'Ｍüller' }, 10);
    expect(access.map(({ Logins: count }) => count)).toEqual([String(SPELLINGS.length)]);

    await saveInventory(
      test.service,
      'people',
      'default',
      [{ person_id: '1', user_name: 'MÜLLER', name: 'Eva', role: null }],
      new Date(now),
    );
    const later = { source: 'default', at: new Date(Date.now() + 1_000) };
    const named = await namesAsOf(
      test.service,
      scope,
      SPELLINGS.map((user) => ({ ...later, user })),
    );
    expect(named.map((names) => names?.person)).toEqual(SPELLINGS.map(() => 'Eva'));

    const rule = alertRuleSchema.parse({
      name: 'logins',
      title: 'Logins',
      filter: { users: ['müller'] },
      group_by: ['user_name'],
      count: SPELLINGS.length,
      within: '10m',
    });
    const { events } = await searchEvents(test.service, scope, { terms: ofAudit }, PAGE);
    const evaluator = createEvaluator(rule);
    expect(events.flatMap((event) => evaluator.evaluate(event))).toMatchObject([{ count: SPELLINGS.length }]);

    const erasable = await findErasable(
      { db: test.service },
      {
        person: { users: ['müller'], macs: [], phones: [] },
        eventIds: [],
      },
    );
    expect(erasable.events).toHaveLength(2 * SPELLINGS.length);
  });
});
