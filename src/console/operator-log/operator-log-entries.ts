import { z } from 'zod';
import type { Db } from '../../store/server/database.ts';
import { listActions, type LoggedAction, recordAction } from '../../store/access/operator-log.ts';
import { fileShape, isoTime, moment, limit, text } from '../api/parameters.ts';
import { cursorParameter, pageOf } from '../api/paging.ts';
import { keysOf } from '../../lib/keys-of.ts';
import { OPERATOR_ACTIONS } from '../../store/server/schema/access-tables.ts';
import { BOM, csvLine, guardFormula } from '../../lib/text/csv.ts';
import { escapeHiddenInJson } from '../../lib/text/hidden-characters.ts';
import { isoIn } from '../../lib/text/parse-time.ts';
import { fileName, pipeWhole } from '../api/pipe-whole.ts';
import { streamRoute } from '../api/route.ts';

const details = z.record(z.string(), z.unknown());
const actionName = z.enum(keysOf(OPERATOR_ACTIONS));

export const actionSchema = z
  .object({
    id: z.string(),
    began_at: isoTime.describe('ISO 8601, UTC'),
    operator: z
      .string()
      .describe('account, "admin token", "local user", or user and host of the command line'),
    via: z.enum(['console', 'api', 'command', 'system']),
    action: actionName,
    subject: z.string().nullable().describe('a destination, an id or a source'),
    details: details.describe('input of the action'),
    ended_at: isoTime.nullable(),
    outcome: z
      .enum(['done', 'failed'])
      .nullable()
      .describe('null while the action runs; stays null if its process was killed'),
    result: details.nullable(),
  })
  .meta({ id: 'OperatorAction' });

const askedEntries = z.object({
  operator: text.optional().describe('exactly this operator'),
  action: actionName.optional(),
  since: moment.optional(),
  until: moment.optional(),
});

export const askedPage = askedEntries.extend({
  limit: limit(50, 500),
  cursor: cursorParameter((text) => (/^\d{1,18}$/.test(text) ? text : undefined)),
});

export async function readActions(db: Db, { limit, cursor, ...conditions }: z.output<typeof askedPage>) {
  const found = await listActions(db, { ...conditions, limit: limit + 1, before: cursor });
  return pageOf(found, limit, ({ id }) => id);
}

/** What an export of the operator log needs, beside its page. */
export const EXPORTING = { needs: 'events.export', data: 'whole' } as const;

/** Entries read at once. */
const ENTRIES_AT_ONCE = 1_000;

/** Exports the entries of the operator log that match. The newest is that of the export itself, still running. */
export const exportRoute = (db: Db) =>
  streamRoute({
    route: 'GET /operator-log/export',
    ...EXPORTING,
    summary: 'export all matching operator actions as a file',
    description:
      'Newest first. The file is streamed; if the export fails, the connection is closed early. The operator log records each export with the SHA-256 of the file.',
    input: { query: askedEntries.extend(fileShape) },
    mediaTypes: {
      'text/csv': 'one line for each entry; details and result are JSON',
      'application/x-ndjson': 'one entry per line, as in the list of entries',
    },
    async work({ query: { format, tz: zone = 'UTC', bom, ...conditions } }, { operator, signal }, response) {
      const details = { format, ...conditions };
      const action = { operator, action: 'events.export', subject: 'operator log', details } as const;
      const line = format === 'csv' ? csvOf(zone) : toJsonLine;
      let rows = 0;
      async function* lines() {
        if (format === 'csv') yield (bom === 'true' ? BOM : '') + csvLine(COLUMNS);
        for await (const entry of entriesOf(db, conditions)) {
          rows += 1;
          yield line(entry);
        }
      }
      response.type(format === 'csv' ? 'text/csv' : 'application/x-ndjson');
      response.attachment(fileName('operator-log', format));
      const work = () => pipeWhole(response, lines(), signal);
      await recordAction(db, action, work, (sha256) => ({ rows, sha256 }));
    },
  });

/** The entries that match, newest first: those from before the first is read. */
async function* entriesOf(db: Db, conditions: z.output<typeof askedEntries>): AsyncGenerator<LoggedAction> {
  let before: string | undefined;
  for (;;) {
    const entries = await listActions(db, { ...conditions, limit: ENTRIES_AT_ONCE, before });
    yield* entries;
    before = entries.at(-1)?.id;
    if (entries.length < ENTRIES_AT_ONCE || before === undefined) return;
  }
}

const COLUMNS = actionSchema.keyof().options;

const csvOf = (zone: string) => (entry: LoggedAction) =>
  csvLine(
    COLUMNS.map((column) => {
      const value = entry[column];
      if (value === null) return null;
      if (value instanceof Date) return isoIn(zone, value);
      return typeof value === 'string' ? guardFormula(value) : JSON.stringify(value);
    }),
  );

function toJsonLine(entry: LoggedAction): string {
  const members = COLUMNS.map((column) => [column, entry[column]]);
  return `${escapeHiddenInJson(JSON.stringify(Object.fromEntries(members)))}\n`;
}
