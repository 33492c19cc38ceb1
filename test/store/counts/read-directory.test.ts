import { beforeAll, expect, it } from 'vitest';
import {
  countSilent,
  DIRECTORY_ORDERS,
  listDirectory,
  type DirectoryEntry,
} from '../../../src/store/counts/read-directory.ts';
import { ALL_SOURCES, inScope, type Scope } from '../../../src/store/server/scope.ts';
import { useDatabase } from '../../support/use-database.ts';

const SOURCES = Array.from({ length: 12 }, (_, index) => `customer-${index}`);
const KEYS = 30;
const NOW = Date.now();

const test = useDatabase();

/** Most clients and access points are of several sources, which saw them at other times and know them by other names. */
beforeAll(async () => {
  await test.query`insert into log_kinds (source, message_type) select unnest(${SOURCES}::text[]), 'OTHER'`;
  await test.query`
    insert into seen (kind, key, source, name, log_at)
    select kind, 'key-' || (n % ${KEYS}::int), source, case when kind = 'access point' then 'AP-' || (n * 7 % 11) end,
      ${new Date(NOW)}::timestamptz - make_interval(mins => (n * 37 % 400)::int)
    from unnest(array['client', 'access point']) as kind, unnest(${SOURCES}::text[]) with ordinality as one (source, at),
      generate_series(at, at + 20) as n`;
});

/** The entries that a reader may see, each once with its latest row. */
async function entriesOf(scope: Scope) {
  const rows = await test.db
    .selectFrom('seen')
    .select(['kind', 'key', 'source', 'label', 'last_seen as lastSeen'])
    .where(inScope(scope))
    .orderBy('last_seen')
    .orderBy('source')
    .execute();
  return [...new Map(rows.map((row) => [`${row.kind} ${row.key}`, row])).values()];
}

type Entry = Pick<DirectoryEntry, 'kind' | 'key' | 'label' | 'lastSeen'>;

const compare = (one: readonly (string | number)[], other: readonly (string | number)[]): number => {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) < (other[at] ?? 0) ? -1 : 1;
};

const placeOf = (order: string, { kind, key, label, lastSeen }: Entry) =>
  order === 'name' ? [label, key, kind] : [lastSeen.getTime(), key, kind];

it.each(
  DIRECTORY_ORDERS.flatMap((order) => [ALL_SOURCES, SOURCES.slice(3, 8)].map((scope) => ({ order, scope }))),
)(
  'lists each entry of $scope once, in the order $order of its latest row, page by page',
  async ({ order, scope }) => {
    const expected = (await entriesOf(scope)).toSorted(
      (one, other) => compare(placeOf(order, one), placeOf(order, other)) * (order === 'seen' ? -1 : 1),
    );
    const listed: Entry[] = [];
    for (;;) {
      const query = { kinds: ['client', 'access point'], order, limit: 7, after: listed.at(-1) } as const;
      const page = await listDirectory(test.db, scope, query);
      listed.push(...page);
      if (page.length < 7) break;
    }
    expect(listed.map(({ kind, key, label }) => [kind, key, label])).toEqual(
      expected.map(({ kind, key, label }) => [kind, key, label]),
    );
  },
);

it('takes an access point for silent if none of the sources has seen it, and finds it by its latest name', async () => {
  const since = new Date(NOW - 60 * 60_000);
  const known = (await entriesOf(ALL_SOURCES)).filter(({ kind }) => kind === 'access point');
  const silent = known.filter(({ lastSeen }) => lastSeen < since);
  expect(await countSilent(test.db, ALL_SOURCES, since)).toBe(silent.length);
  const query = { kinds: ['access point'], order: 'name', limit: 100 } as const;
  const keysOf = (entries: readonly Entry[]) => entries.map(({ key }) => key).toSorted();
  const listed = await listDirectory(test.db, ALL_SOURCES, { ...query, silentSince: since });
  expect(keysOf(listed)).toEqual(keysOf(silent));
  const named = await listDirectory(test.db, ALL_SOURCES, { ...query, prefixes: ['ap-3'] });
  expect(keysOf(named)).toEqual(keysOf(known.filter(({ label }) => label.startsWith('ap-3'))));
});
