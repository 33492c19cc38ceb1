import { z } from 'zod';
import type { Operations } from '../http/operations.ts';
import { object, route } from '../http/route.ts';
import type { Route } from '../http/route.ts';
import { operationSchema } from '../contract/operation.ts';

const input = z.object({ operationId: z.string() });

/** Specification, Asynchronous mode. */
export function operationRoutes(operations: Operations): Route[] {
  return [
    route('GET', '/operations/{operationId}', 'Get the state of a long-running operation', {
      access: ['lro:r'],
      input,
      success: object(operationSchema),
      handle: ({ operationId }) => operations.get(operationId),
    }),
    route('POST', '/operations/{operationId}/:cancel', 'Cancel a long-running operation', {
      access: ['lro'],
      input,
      handle({ operationId }) {
        operations.cancel(operationId);
      },
    }),
    route('DELETE', '/operations/{operationId}', 'Remove the record of a long-running operation', {
      access: ['lro'],
      input,
      handle({ operationId }) {
        operations.remove(operationId);
      },
    }),
  ];
}
