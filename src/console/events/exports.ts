import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { HttpError } from '../../lib/errors.ts';
import type { Db } from '../../store/server/database.ts';
import { countEventsUpTo } from '../../store/events/search-events.ts';
import { exportLines } from '../../store/events/export-events.ts';
import type { EventFilter } from '../../store/events/event-filter.ts';
import type { ExportFormat } from '../../store/events/export-format.ts';
import { EXPORT } from '../access/access.ts';
import { recordAction } from '../../store/access/operator-log.ts';
import { covers, type Scope } from '../../store/server/scope.ts';
import { jsonRoute, streamRoute, type ApiRoute } from '../api/route.ts';
import { fileShape } from '../api/parameters.ts';
import { fileName, pipeWhole } from '../api/pipe-whole.ts';
import { conditionShape, filterOf, withValidRange, queryOfConditions } from './conditions.ts';
import { exportSchema, type ExportProgress } from './describe-event.ts';

const exportId = z
  .string()
  .regex(/^[0-9a-f]{32}$/, 'must have 32 hexadecimal digits')
  .describe('random id chosen by the client: 32 hexadecimal digits');

const byId = { path: z.object({ export_id: exportId }) };

export function exportRoutes(db: Db): readonly ApiRoute[] {
  const known = new LRUCache<string, Watched>({ max: MAX_REMEMBERED });

  /** Throws HttpError 404 if it is not remembered, or of sources that the reader may not see. */
  function find(id: string, reader: Scope): Watched {
    const found = known.get(id);
    if (found === undefined || !covers(reader, found.scope)) throw notKnown(id);
    return found;
  }

  return [
    streamRoute({
      route: 'GET /events/export',
      summary: 'export all matching events as a file',
      description:
        'Newest first. The file is streamed; if the export fails, the connection is closed early. The operator log records each export with the SHA-256 of the file.',
      ...EXPORT,
      input: {
        query: withValidRange({
          ...conditionShape,
          ...fileShape,
          export_id: exportId.optional(),
        }),
      },
      mediaTypes: {
        'text/csv': 'the columns of the view events (for one message type, its own columns) and the payload',
        'application/x-ndjson': 'the columns of the view events and the payload, one JSON object per line',
      },
      async work({ query }, { operator, source, scope, signal: gone }, response) {
        const { format, tz: zone, bom, export_id: id, ...conditions } = query;
        const form = { format, ...(zone !== undefined && { zone }), ...(bom === 'true' && { bom: true }) };
        const progress: ExportProgress = { state: 'running', rows: 0, bytes: 0, expected_rows: null };
        const controller = new AbortController();
        if (id !== undefined) known.set(id, { progress, scope, controller });
        const signal = AbortSignal.any([gone, controller.signal]);
        const filter = filterOf(conditions);
        const write = () => {
          void countExpected(db, scope, filter, progress);
          const lines = exportLines(db, scope, filter, form, signal, (rows) => (progress.rows += rows));
          return pipeWhole(response, lines, signal, (bytes) => (progress.bytes += bytes));
        };
        const details = { ...form, ...queryOfConditions({ ...conditions, source }) };
        response.set({
          'Content-Type': MEDIA_TYPE[format],
          'Content-Disposition': `attachment; filename="${fileName('events', format)}"`,
        });
        try {
          await recordAction(
            db,
            { operator, action: 'events.export', details },
            () => write().catch((error: unknown) => throwStopped(error, progress, signal)),
            (sha256) => ({ rows: progress.rows, bytes: progress.bytes, sha256 }),
          );
          progress.state = 'done';
        } catch (error) {
          progress.state = 'failed';
          if (!signal.aborted) throw error;
        }
      },
    }),
    jsonRoute({
      route: 'GET /exports/{export_id}',
      summary: 'get the progress of an export running in this process',
      ...EXPORT,
      input: byId,
      answer: exportSchema,
      work: async ({ path }, { scope }) => find(path.export_id, scope).progress,
    }),
    jsonRoute({
      route: 'POST /exports/{export_id}/cancel',
      summary: 'cancel a running export',
      ...EXPORT,
      input: byId,
      answer: z.object({}),
      async work({ path }, { scope }) {
        const { progress, controller } = find(path.export_id, scope);
        if (progress.state !== 'running') throw notKnown(path.export_id);
        controller.abort();
        return {};
      },
    }),
  ];
}

const notKnown = (id: string) =>
  new HttpError(404, 'NOT_FOUND', `export ${id} is not running in this process`);

/** An export that a client watches: it shows the progress of the download, and can cancel it. */
interface Watched {
  readonly progress: ExportProgress;
  readonly scope: Scope;
  readonly controller: AbortController;
}

/** Exports that are remembered; the least recently used are forgotten first. */
const MAX_REMEMBERED = 200;

/** Beyond this number rows are not counted beforehand. */
const MAX_EXPECTED = 1_000_000;

const MEDIA_TYPE: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  ndjson: 'application/x-ndjson',
};

/** Throws an error that says how far an export came, if its user stopped it. */
function throwStopped(error: unknown, { rows, bytes }: ExportProgress, signal: AbortSignal): never {
  if (!signal.aborted) throw error;
  throw new Error(`stopped after ${rows} rows, ${bytes} bytes`, { cause: error });
}

/** The count is only shown: the export works without it. */
async function countExpected(db: Db, scope: Scope, filter: EventFilter, progress: ExportProgress) {
  const count = await countEventsUpTo(db, scope, filter, MAX_EXPECTED + 1).catch(() => undefined);
  progress.expected_rows = count === undefined || count > MAX_EXPECTED ? null : count;
}
