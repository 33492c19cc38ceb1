import { countEventsUpTo } from '../../store/events/search-events.ts';
import { createHash, type Hash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Db } from '../../store/server/database.ts';
import type { EventFilter } from '../../store/events/event-filter.ts';
import { exportLines } from '../../store/events/export-events.ts';
import type { ExportForm } from '../../store/events/export-format.ts';
import { ALL_SOURCES } from '../../store/server/scope.ts';
import { countOf } from '../../lib/text/units.ts';
import { note } from '../shared/output.ts';
import { createProgress } from '../shared/progress.ts';
import { recordCommand } from '../shared/record.ts';

/** The form of an export, and its file; without one, standard output. */
export interface ExportTo extends ExportForm {
  readonly output?: string | undefined;
}

/** Counting ends here: the progress of a larger export shows no total. */
const MOST_COUNTED = 10_000_000;

/** Chunks of text that wait for a slow reader. */
const PIECES_WAITING = 4;

/** `events export`: writes all matching events, or those until the signal fires. The operator log records the export. */
export async function exportEvents(db: Db, filter: EventFilter, to: ExportTo, signal: AbortSignal) {
  const action = { action: 'events.export', details: { ...to, filter } } as const;
  const work = () => writeEvents(db, filter, to, signal);
  const { events, isWhole } = await recordCommand(db, action, work, (exported) => ({ ...exported }));
  note(isWhole ? countOf(events, 'event') : `stopped after ${countOf(events, 'event')}`);
}

async function writeEvents(db: Db, filter: EventFilter, { output, ...form }: ExportTo, signal: AbortSignal) {
  const counted = await countEventsUpTo(db, ALL_SOURCES, filter, MOST_COUNTED);
  using progress = createProgress('exported', counted === MOST_COUNTED ? undefined : counted);
  let events = 0;
  const digest = createHash('sha256');
  const lines = exportLines(db, ALL_SOURCES, filter, form, signal, (rows) => {
    events += rows;
    progress.show(events);
  });
  try {
    const hashed = hashPieces(lines, digest);
    const text = Readable.from(hashed, { highWaterMark: PIECES_WAITING });
    await (output === undefined ? pipeline(text, process.stdout, { end: false }) : writeFile(text, output));
  } catch (error) {
    if (!signal.aborted) throw error;
    return { events, isWhole: false };
  }
  return { events, isWhole: true, sha256: digest.digest('hex') };
}

async function* hashPieces(pieces: AsyncIterable<string>, digest: Hash): AsyncGenerator<string> {
  for await (const piece of pieces) {
    digest.update(piece);
    yield piece;
  }
}

/**
 * Writes a file that only its owner may read, and that gets its name when it is complete. An existing pipe or device
 * is written to directly.
 */
async function writeFile(text: Readable, file: string): Promise<void> {
  const existing = await stat(file).catch(() => undefined);
  if (existing !== undefined && !existing.isFile()) return pipeline(text, createWriteStream(file));
  const partial = `${file}.partial`;
  // A file or link of that name keeps its mode and place: a new one has to be created.
  await rm(partial, { force: true });
  await pipeline(text, createWriteStream(partial, { mode: 0o600, flags: 'wx' }));
  await rename(partial, file);
}
