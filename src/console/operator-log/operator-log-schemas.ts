import { z } from 'zod';
import type { LoggedAction } from '../../store/operator-log.ts';
import { OPERATOR_ACTIONS } from '../../store/tables.ts';

const details = z.record(z.string(), z.unknown());

/** One entry of the operator log. */
export const actionSchema = z
  .object({
    id: z.string(),
    began_at: z.string().meta({ description: 'ISO 8601, UTC' }),
    operator: z
      .string()
      .meta({ description: 'the name given at log-in, or user and host of the command line' }),
    via: z.enum(['console', 'api', 'command']),
    action: z.enum(OPERATOR_ACTIONS),
    subject: z.string().nullable().meta({ description: 'a destination, an id, a source' }),
    details: details.meta({ description: 'what was asked for' }),
    ended_at: z.string().nullable(),
    outcome: z
      .enum(['done', 'failed'])
      .nullable()
      .meta({ description: 'null while it goes on, or for ever when its process was killed' }),
    result: details.nullable(),
  })
  .meta({ id: 'OperatorAction' });

export type OperatorActionLine = z.input<typeof actionSchema>;

/** An entry as the API tells it. */
export function actionLine({ began_at, ended_at, ...rest }: LoggedAction): OperatorActionLine {
  return { ...rest, began_at: began_at.toISOString(), ended_at: ended_at?.toISOString() ?? null };
}
