import type { RequestHandler } from 'express';
import { recordEnded, type Operator } from '../../store/access/operator-log.ts';
import type { Db } from '../../store/server/database.ts';
import { visitorOf } from '../access/gate.ts';
import { queryOf } from './parameters.ts';
import type { ApiRoute, Asked } from './route.ts';

/** The header by which `xiq-sink mcp` says that an assistant asks. */
export const ASSISTANT_HEADER = 'x-xiq-sink-assistant';

/** Records a question of an assistant in the operator log. It is not answered if that fails. */
export function recordAsked(
  db: Db,
  operator: Operator,
  { route }: Pick<ApiRoute, 'route'>,
  asked: Pick<Asked, 'params' | 'url'>,
): Promise<void> {
  const details = { ...asked.params, ...queryOf(asked) };
  return recordEnded(db, { operator, action: 'assistant.ask', subject: route, details });
}

/** Records each question of `xiq-sink mcp` before it is answered. */
export const recordQuestion =
  (db: Db, route: Pick<ApiRoute, 'route'>): RequestHandler =>
  async (request, _response, next) => {
    if (request.get(ASSISTANT_HEADER) !== undefined) {
      await recordAsked(db, visitorOf(request).operator, route, request);
    }
    next();
  };
