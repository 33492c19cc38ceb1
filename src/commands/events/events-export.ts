import { createWriteStream } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Db } from '../../store/database.ts';
import type { EventFilter } from '../../store/event-filter.ts';
import { exportLines } from '../../store/export-events.ts';
import type { ExportFormat } from '../../store/export-format.ts';
import { recordAction } from '../../store/operator-log.ts';
import { countEventsUpTo } from '../../store/search-events.ts';
import { commandOperator } from '../operator.ts';
import { note } from '../print.ts';
import { createProgress } from '../progress.ts';

/** How events are written, and where to; to standard output without a file. */
export interface ExportTo {
  readonly format: ExportFormat;
  readonly output?: string | undefined;
}

/** What was written. */
interface Exported {
  readonly events: number;
  /** False when a person ended it before. */
  readonly isWhole: boolean;
}

/** More are not counted beforehand. */
const MOST_COUNTED = 10_000_000;

/** Pieces of text that wait for a slow reader. */
const PIECES_WAITING = 4;

/** `events export`: writes what matches until all is written or the signal fires, and keeps in the operator log that it did. */
export async function exportEvents(
  db: Db,
  filter: EventFilter,
  to: ExportTo,
  signal: AbortSignal,
): Promise<void> {
  const action = {
    operator: commandOperator(),
    action: 'events.export' as const,
    details: { ...to, filter },
  };
  const { events, isWhole } = await recordAction(
    db,
    action,
    () => writeEvents(db, filter, to, signal),
    (exported) => ({ ...exported }),
  );
  note(isWhole ? `${events} events` : `stopped after ${events} events`);
}

async function writeEvents(
  db: Db,
  filter: EventFilter,
  { format, output }: ExportTo,
  signal: AbortSignal,
): Promise<Exported> {
  const counted = await countEventsUpTo(db, filter, MOST_COUNTED);
  const progress = createProgress('exported', counted === MOST_COUNTED ? undefined : counted);
  let events = 0;
  const lines = exportLines(db, filter, format, signal, (rows) => {
    events += rows;
    progress.show(events);
  });
  try {
    const text = Readable.from(lines, { highWaterMark: PIECES_WAITING });
    await (output === undefined ? pipeline(text, process.stdout, { end: false }) : writeFile(text, output));
  } catch (error) {
    if (!signal.aborted) throw error;
    return { events, isWhole: false };
  } finally {
    progress.clear();
  }
  return { events, isWhole: true };
}

/**
 * A file of this name is there once it is whole; others of this machine may not read it. What is there and no file, a
 * pipe or a device, is written to.
 */
async function writeFile(text: Readable, file: string): Promise<void> {
  const there = await stat(file).catch(() => undefined);
  if (there !== undefined && !there.isFile()) return pipeline(text, createWriteStream(file));
  const partial = `${file}.partial`;
  await pipeline(text, createWriteStream(partial, { mode: 0o600 }));
  await rename(partial, file);
}
