import type { RequestHandler } from 'express';
import { recordEnded } from '../../store/access/operator-log.ts';
import type { Db } from '../../store/server/database.ts';
import { visitorOf } from '../access/gate.ts';
import { queryOf } from './parameters.ts';
import type { ApiRoute } from './route.ts';

/** The header by which `xiq-sink mcp` says that an assistant asks. */
export const ASSISTANT_HEADER = 'x-xiq-sink-assistant';

/** Records each question of an assistant in the operator log, before it is answered. A failure to do so is the answer. */
export const recordQuestion =
  (db: Db, { route }: Pick<ApiRoute, 'route'>): RequestHandler =>
  async (request, _response, next) => {
    if (request.get(ASSISTANT_HEADER) !== undefined) {
      const { operator } = visitorOf(request);
      const details = { ...request.params, ...queryOf(request) };
      await recordEnded(db, { operator, action: 'assistant.ask', subject: route, details });
    }
    next();
  };
