import type { QuarantineState } from '../../store/server/schema/delivery-tables.ts';
import { validate as isUuid } from 'uuid';
import { commandName } from '../../lib/text/command-name.ts';
import { UsageError } from '../../lib/errors.ts';
import { asText, showBytes } from '../../lib/text/show-bytes.ts';
import type { Db } from '../../store/server/database.ts';
import { findReplayTallies } from '../../store/quarantine/quarantine.ts';
import {
  countQuarantine,
  findQuarantined,
  findReplayed,
  readContent,
  searchQuarantine,
} from '../../store/quarantine/search-quarantine.ts';
import type { Quarantined, QuarantineFilter } from '../../store/quarantine/search-quarantine.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { formatCount } from '../../lib/text/units.ts';
import { revealOnLine } from '../../lib/text/hidden-characters.ts';
import { note, print, printJson, printRows, type Columns } from '../shared/output.ts';

const COLUMNS: Columns<Quarantined> = {
  id: (item) => item.quarantine_id,
  received: (item) => item.received_at.toISOString(),
  source: (item) => item.source,
  type: (item) => item.message_type,
  bytes: (item) => String(item.bytes),
  state: (item) => item.resolution ?? 'open',
  reason: (item) => item.reason,
};

/** `quarantine list`: prints matching items, newest first, as a table or as JSON lines, and the number of all that match. */
export async function printQuarantine(
  db: Db,
  filter: QuarantineFilter,
  { state, limit }: { readonly state: QuarantineState; readonly limit: number },
  asJson: boolean,
): Promise<void> {
  const found = await searchQuarantine(db, ALL_SOURCES, filter, state, limit);
  await printRows(found, COLUMNS, asJson);
  const total = await countQuarantine(db, ALL_SOURCES, filter, state);
  const which = state === 'all' ? '' : ` ${state}`;
  note(total === 0 ? `no${which} items` : `(${found.length} of ${formatCount(total)}${which})`);
}

export type ShowFormat = 'text' | 'json' | 'raw';

/** `quarantine show`: prints one item and its content. */
export async function printQuarantined(db: Db, id: string, format: ShowFormat): Promise<void> {
  checkIds([id]);
  const [item] = await findQuarantined(db, ALL_SOURCES, [id]);
  if (item === undefined) throw new UsageError(`there is no quarantined item ${id}`);
  const content = await readContent(db, ALL_SOURCES, id);
  switch (format) {
    case 'raw':
      process.stdout.write(content);
      return;
    case 'json': {
      const text = asText(content);
      const bytes = text === undefined ? { base64: content.toString('base64') } : { text };
      printJson({ ...item, ...bytes });
      return;
    }
    case 'text': {
      const fields = await describe(db, item);
      for (const [name, value] of fields) print(`${name.padEnd(22)}${revealOnLine(value)}`);
      print(
        `\n${content.length === 0 && item.bytes > 0 ? '(its content was deleted)' : showBytes(content, '--raw prints all of them')}`,
      );
    }
  }
}

async function describe(db: Db, item: Quarantined): Promise<[string, string][]> {
  const { resolution, resolved_at, replay_delivery_id: replayId, encoding } = item;
  const replayOf = await findReplayed(db, ALL_SOURCES, item.delivery_id);
  const account =
    replayId === null ? undefined : (await findReplayTallies(db, ALL_SOURCES, [replayId])).get(replayId);
  return [
    ['id', item.quarantine_id],
    ['received', item.received_at.toISOString()],
    ['source', item.source],
    ['type', item.message_type],
    ['delivery', item.delivery_id],
    ...optional('replay of', replayOf),
    ['reason', item.reason],
    ['bytes', String(item.bytes)],
    ...optional('encoding', encoding ?? undefined),
    ['state', [resolution ?? 'open', resolved_at?.toISOString()].filter(Boolean).join(' ')],
    ...optional('replayed as', replayId ?? undefined),
    ...(account?.again ?? []).flatMap(({ quarantineId }) => optional('quarantined again as', quarantineId)),
  ];
}

const optional = (name: string, value: string | undefined): [string, string][] =>
  value === undefined ? [] : [[name, value]];

/** Throws a UsageError when one of these is not an id. */
export function checkIds(ids: readonly string[]): void {
  const wrong = ids.find((id) => !isUuid(id));
  if (wrong !== undefined) {
    throw new UsageError(
      `"${wrong}" is not the id of a quarantined item. Run ${commandName()} quarantine list to see the ids.`,
    );
  }
}
