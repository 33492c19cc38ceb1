import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { countEventsUpTo, exportLines } from '../../store/export-events.ts';
import type { ExportFormat } from '../../store/export-events.ts';
import { recordAction } from '../../store/operator-log.ts';
import type { Operator } from '../../store/operator-log.ts';
import { jsonRoute, streamRoute } from '../api/route.ts';
import type { ApiRoute } from '../api/route.ts';
import { conditionShape, filterOf, isInOrder, NOT_IN_ORDER, queryOfConditions } from './conditions.ts';
import type { Conditions } from './conditions.ts';
import { exportSchema } from './event-schemas.ts';

const exportId = z
  .string()
  .regex(/^[0-9a-f]{32}$/, 'takes 32 hexadecimal digits')
  .meta({ description: 'random, chosen by who asks: 32 hexadecimal digits' });

const byId = z.object({ path: z.object({ export_id: exportId }) });

/** Exports, and how far they are. */
export function exportRoutes(db: Db): readonly ApiRoute[] {
  const exports = createExports();
  return [
    streamRoute({
      method: 'get',
      path: '/events/export',
      tag: 'events',
      summary: 'all events that match, as a file',
      description:
        'Newest first. The answer is written as fast as it is read; when it ends early, so does the connection. The operator log keeps who exported what.',
      asks: z.object({
        query: z
          .object({
            ...conditionShape,
            format: z.enum(['csv', 'ndjson'], 'takes csv or ndjson').default('csv'),
            export_id: exportId.optional(),
          })
          .refine(isInOrder, NOT_IN_ORDER),
      }),
      mediaTypes: {
        'text/csv': 'the columns of the view events, or of one message type its own, and the payload',
        'application/x-ndjson': 'the columns of the view events and the payload, one JSON object a line',
      },
      async work({ query: { format, export_id: id, ...conditions } }, { operator, signal }, response) {
        const watched = id === undefined ? { progress: unwatched(), signal } : exports.begin(id);
        await exportTo(response, db, {
          operator,
          format,
          conditions,
          progress: watched.progress,
          signal: AbortSignal.any([signal, watched.signal]),
        });
      },
    }),
    jsonRoute({
      method: 'get',
      path: '/exports/{export_id}',
      tag: 'events',
      summary: 'how far an export is, asked in the process that writes it',
      asks: byId,
      answer: exportSchema,
      async work({ path }) {
        const progress = exports.find(path.export_id);
        if (progress === undefined) throw notKnown(path.export_id);
        const { state, rows, bytes, expectedRows } = progress;
        return { state, rows, bytes, expected_rows: expectedRows ?? null };
      },
    }),
    jsonRoute({
      method: 'post',
      path: '/exports/{export_id}/cancel',
      tag: 'events',
      summary: 'gives an export up that is running',
      asks: byId,
      answer: z.object({}),
      async work({ path }) {
        if (!exports.cancel(path.export_id)) throw notKnown(path.export_id);
        return {};
      },
    }),
  ];
}

const unwatched = (): ExportProgress => ({ state: 'running', rows: 0, bytes: 0, expectedRows: undefined });

const notKnown = (id: string) => new HttpError(404, 'NOT_FOUND', `no export ${id} is running here`);

/** How far an export is. */
export interface ExportProgress {
  state: 'running' | 'done' | 'failed';
  /** Written so far. */
  rows: number;
  bytes: number;
  /** Undefined while not counted, or when there are too many to count. */
  expectedRows: number | undefined;
}

/** The exports of this process that somebody wants to watch. */
export interface Exports {
  /** Makes an export known under an id of the one who asks for it; the signal fires when it is to be given up. */
  begin(id: string): { readonly progress: ExportProgress; readonly signal: AbortSignal };
  /** Undefined when it is not known, or was forgotten. */
  find(id: string): Readonly<ExportProgress> | undefined;
  /** False when no such export runs. */
  cancel(id: string): boolean;
}

/** How many are remembered; the oldest are forgotten first. */
const MAX_REMEMBERED = 200;

/** Remembers exports in memory: a browser shows how far the file is that it writes to its disk by itself. */
export function createExports(): Exports {
  const known = new Map<string, { progress: ExportProgress; controller: AbortController }>();
  return {
    begin(id) {
      const progress: ExportProgress = { state: 'running', rows: 0, bytes: 0, expectedRows: undefined };
      const controller = new AbortController();
      known.delete(id);
      known.set(id, { progress, controller });
      const [oldest] = known.keys();
      if (known.size > MAX_REMEMBERED && oldest !== undefined) known.delete(oldest);
      return { progress, signal: controller.signal };
    },
    find: (id) => known.get(id)?.progress,
    cancel(id) {
      const found = known.get(id);
      if (found?.progress.state !== 'running') return false;
      found.controller.abort();
      return true;
    },
  };
}

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
