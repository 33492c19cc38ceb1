import { z } from 'zod';
import { operationSchema } from '../src/cloud/contract/operation.ts';
import type { Operations } from './operations.ts';
import { empty, object, route } from './route.ts';
import type { Route } from './route.ts';

const input = z.object({ operationId: z.string() });

/** Specification, Asynchronous mode. */
export function operationRoutes(operations: Operations): Route[] {
  const tag = 'Long-running operations';
  return [
    route({
      method: 'GET',
      path: '/operations/{operationId}',
      tag,
      summary: 'State of a long-running operation',
      access: ['lro:r'],
      input,
      success: object(operationSchema),
      handle: ({ operationId }) => operations.get(operationId),
    }),
    route({
      method: 'POST',
      path: '/operations/{operationId}/:cancel',
      tag,
      summary: 'Ask for a long-running operation to be cancelled',
      access: ['lro'],
      input,
      success: empty(),
      handle({ operationId }) {
        operations.cancel(operationId);
      },
    }),
    route({
      method: 'DELETE',
      path: '/operations/{operationId}',
      tag,
      summary: 'Remove the record of a long-running operation',
      access: ['lro'],
      input,
      success: empty(),
      handle({ operationId }) {
        operations.remove(operationId);
      },
    }),
  ];
}
