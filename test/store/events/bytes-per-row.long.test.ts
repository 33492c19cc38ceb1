import { CompiledQuery, sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { SEEDED_TYPES } from '../../../bench/seeded-types.ts';
import { FAMILY_OF, type Family } from '../../../src/events/domain.ts';
import { TABLE_OF } from '../../../src/events/message-types.ts';
import { maintainPartitions } from '../../../src/store/partitions/partitions.ts';
import { measureStorage } from '../../../src/store/server/storage-size.ts';
import { useDatabase } from '../../support/use-database.ts';

/** With indexes, in bytes: what is measured, and 2 %. An index takes more, unless many rows share its entries. */
const MOST = [
  ['location', 875],
  ['audit', 945],
  ['log', 1_315],
] as const satisfies readonly (readonly [Family, number])[];

const ROWS_OF_EACH = 50_000;
const DAY = Date.parse('2026-05-11T00:00:00Z');
const HOUR_MS = 3_600_000;
const HOURS = 24;

const test = useDatabase();

beforeAll(async () => {
  await maintainPartitions(test.db, new Date(DAY), {});
  for (const [family] of MOST) {
    const types = SEEDED_TYPES.filter(({ messageType }) => FAMILY_OF[messageType] === family);
    const shares = types.reduce((sum, { share }) => sum + share, 0);
    for (let hour = 0; hour < HOURS; hour += 1) {
      const [from, to] = [hour, hour + 1].map((at) => new Date(DAY + at * HOUR_MS));
      for (const { share, statement } of types) {
        const rows = Math.round((ROWS_OF_EACH * share) / shares / HOURS);
        await test.db.executeQuery(CompiledQuery.raw(statement, [rows, from, to, ['branch', 'default']]));
      }
    }
  }
});

it.each(MOST)('an event of the family %s takes at most %i bytes, with its indexes', async (family, most) => {
  const { partitions } = await measureStorage(test.db);
  const used = partitions.filter((one) => one.family === family && one.isUsed);
  const bytes = used.reduce((sum, one) => sum + one.bytes, 0);
  const [stored] = await test.query<{ rows: number }>`
    select count(*)::int as rows from ${sql.table(TABLE_OF[family])}`;
  expect(bytes / (stored?.rows ?? 0)).toBeLessThan(most);
  // A bound far above what is measured would notice nothing.
  expect(bytes / (stored?.rows ?? 0)).toBeGreaterThan(0.95 * most);
});
