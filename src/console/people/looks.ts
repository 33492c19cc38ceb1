import type { Db } from '../../store/database.ts';
import { recordEnded, type Operator } from '../../store/operator-log.ts';
import type { WholeRange } from './people-schemas.ts';

/** Records that someone looks at the timeline of a user or client, before it is read: no look is unrecorded. */
export function recordLook(
  db: Db,
  operator: Operator,
  subject: string,
  { since, until }: WholeRange,
): Promise<void> {
  return recordEnded(db, { operator, action: 'timeline.read', subject, details: { since, until } });
}
