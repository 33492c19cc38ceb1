import { z } from 'zod';
import { errorBodySchema, legacyErrorBodySchema } from '../../src/cloud/contract/shared.ts';

/** States of a long-running operation (specification, States and transitions). */
const OPERATION_STATUSES = ['PENDING', 'RUNNING', 'CANCELING', 'SUCCEEDED', 'FAILED', 'CANCELED'] as const;

export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/** Progress of an operation: times in ISO 8601, `percentage` 0 to 100, `expires_in` seconds until it is removed. */
const operationMetadataSchema = z.looseObject({
  status: z.enum(OPERATION_STATUSES),
  cancelable: z.boolean(),
  percentage: z.number().min(0).max(100).nullish(),
  step: z.string().nullish(),
  create_time: z.string(),
  update_time: z.string(),
  start_time: z.string().nullish(),
  end_time: z.string().nullish(),
  expires_in: z.number(),
});

/**
 * Answer of `GET /operations/{operationId}`: `response` is the answer of the synchronous call; `error` is present if the
 * operation failed or was cancelled.
 */
export const operationSchema = z.looseObject({
  id: z.string().min(1),
  metadata: operationMetadataSchema,
  done: z.boolean(),
  response: z.unknown().optional(),
  error: z.union([errorBodySchema, legacyErrorBodySchema, z.looseObject({})]).nullish(),
});
