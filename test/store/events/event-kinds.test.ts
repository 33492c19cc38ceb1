import * as fc from 'fast-check';
import { sql } from 'kysely';
import { beforeAll, expect, it } from 'vitest';
import { FAMILIES } from '../../../src/events/domain.ts';
import { TABLE_OF } from '../../../src/events/message-types.ts';
import {
  GDPR_FILLERS,
  KIND_OF_GDPR_WORD,
  OUTCOME_OF_WORD,
  outcomeOf,
  recordKind,
} from '../../../src/events/record-kind.ts';
import { kindOfRow, outcomeOfRow } from '../../../src/store/events/event-kinds.ts';
import { ALL_SOURCES } from '../../../src/store/server/scope.ts';
import { findEvents } from '../../support/find-events.ts';
import type { StoredEvent } from '../../../src/events/stored-event.ts';
import { STORED } from './varied-events.ts';
import { useDatabase } from '../../support/use-database.ts';

const test = useDatabase({ isVaried: true });
let all: readonly StoredEvent[];
beforeAll(async () => {
  all = await findEvents(test.db, ALL_SOURCES, {}, { limit: STORED });
});

const expectedOf = (event: StoredEvent) => {
  const kind = recordKind(event);
  const outcome = outcomeOf(kind, event);
  return { kind, outcome: outcome === 'unknown' ? null : outcome };
};

it('gives each stored row the kind and the outcome of its record', async () => {
  for (const family of FAMILIES) {
    const rows = await test.query<{ event_id: string; kind: string; outcome: string | null }>`
      select event_id, ${kindOfRow(family)} as kind, ${outcomeOfRow(family) ?? sql`null`} as outcome
      from ${sql.table(TABLE_OF[family])}`;
    const found = new Map(rows.map(({ event_id: id, kind, outcome }) => [id, { kind, outcome }]));
    const expected = new Map(
      all.filter((event) => event.family === family).map((event) => [event.eventId, expectedOf(event)]),
    );
    expect(found).toEqual(expected);
    expect(expected.size).toBeGreaterThan(0);
  }
});

it('reads words of a category and a status as the forwarding does', async () => {
  const word = fc.oneof(
    fc.constantFrom(...KIND_OF_GDPR_WORD.keys(), ...GDPR_FILLERS, ...OUTCOME_OF_WORD.keys()),
    fc.string({ maxLength: 5 }).map((text) => text.replaceAll(/[^ -~]/g, '')),
  );
  const text = fc
    .array(fc.tuple(word, fc.constantFrom(' ', '_', '-', '\t', ' - ', '')), { maxLength: 5 })
    .map((parts) => parts.flat().join(''));
  const template = all.find(({ messageType }) => messageType === 'GDPR_LOG_ALL');
  if (template === undefined) throw new Error('there is none');
  await fc.assert(
    fc.asyncProperty(text, text, async (category, status) => {
      const rows = await test.query`
        select ${kindOfRow('log')} as kind, ${outcomeOfRow('log')} as outcome
        from jsonb_populate_record(null::log_entries, ${JSON.stringify({ message_type: 'GDPR_LOG_ALL', category, status })}::jsonb)`;
      expect(rows[0]).toEqual(
        expectedOf({ ...template, columns: { ...template.columns, category, status } }),
      );
    }),
    { numRuns: 300 },
  );
});
