import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { Db } from '../../store/database.ts';
import { exportLines } from '../../store/export-events.ts';
import type { ExportFormat } from '../../store/export-format.ts';
import { recordAction } from '../../store/operator-log.ts';
import type { Operator } from '../../store/operator-log.ts';
import { countEventsUpTo } from '../../store/search-events.ts';
import { filterOf, queryOfConditions } from './conditions.ts';
import type { Conditions } from './conditions.ts';
import type { ExportProgress } from './exports.ts';

/** More rows than these are not counted beforehand. */
const MAX_EXPECTED = 1_000_000;

/** What is exported, by whom, and where its progress is kept. */
export interface Export {
  readonly operator: Operator;
  readonly format: ExportFormat;
  readonly conditions: Conditions;
  readonly progress: ExportProgress;
  /** Fires when nobody wants it any more. */
  readonly signal: AbortSignal;
}

const MEDIA_TYPE: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
};

/**
 * Writes all events that match to an answer as a file, as fast as it is read, and the export into the operator log. An
 * export that ends early ends the connection, so that nobody takes the part for the whole. Throws what made it fail,
 * unless that the reader went away.
 */
export async function exportTo(response: Response, db: Db, asked: Export): Promise<void> {
  const { operator, format, conditions, progress, signal } = asked;
  const details = { format, ...queryOfConditions(conditions) };
  response.set({
    'Content-Type': MEDIA_TYPE[format],
    'Content-Disposition': `attachment; filename="${fileName(format, new Date())}"`,
  });
  try {
    await recordAction(
      db,
      { operator, action: 'events.export', details },
      () => write(response, db, asked),
      () => ({ rows: progress.rows, bytes: progress.bytes }),
    );
    progress.state = 'done';
  } catch (error) {
    progress.state = 'failed';
    response.destroy();
    if (!signal.aborted) throw error;
  }
}

async function write(response: Response, db: Db, asked: Export): Promise<void> {
  const { format, conditions, progress, signal } = asked;
  const filter = filterOf(conditions);
  void expect(db, asked);
  const lines = exportLines(db, filter, format, signal, (rows) => {
    progress.rows += rows;
  });
  try {
    await pipeline(Readable.from(countBytes(lines, progress)), response, { signal });
  } catch (error) {
    // The signal also fires once the answer is over.
    if (response.writableFinished) return;
    if (!signal.aborted) throw error;
    throw new Error(`given up after ${progress.rows} rows, ${progress.bytes} bytes`, { cause: error });
  }
}

/** Counts beforehand what is only shown: an export goes on without. */
async function expect(db: Db, { conditions, progress }: Export): Promise<void> {
  const count = await countEventsUpTo(db, filterOf(conditions), MAX_EXPECTED + 1).catch(() => undefined);
  progress.expectedRows = count !== undefined && count > MAX_EXPECTED ? undefined : count;
}

async function* countBytes(pieces: AsyncIterable<string>, progress: ExportProgress): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    const bytes = Buffer.from(piece);
    progress.bytes += bytes.length;
    yield bytes;
  }
}

const fileName = (format: ExportFormat, now: Date) =>
  `xiq-sink-events-${now.toISOString().slice(0, 19).replaceAll(':', '')}Z.${format}`;
