import { z } from 'zod';
import { HttpError } from '../../errors.ts';
import type { Db } from '../../store/database.ts';
import { jsonRoute, streamRoute } from '../api/route.ts';
import type { ApiRoute } from '../api/route.ts';
import { conditionShape, isInOrder, NOT_IN_ORDER } from './conditions.ts';
import { exportSchema } from './event-schemas.ts';
import { exportTo } from './export-events.ts';
import { createExports } from './exports.ts';
import type { ExportProgress } from './exports.ts';

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
