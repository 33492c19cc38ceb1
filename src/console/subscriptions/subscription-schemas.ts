import { z } from 'zod';

const action = z.enum(['create', 'update', 'delete', 'keep']);

const stepSchema = z
  .object({
    action,
    message_type: z.string(),
    url: z.string(),
    subscription_id: z.string().nullable().optional(),
    differences: z
      .array(
        z.union([
          z.object({ member: z.enum(['application', 'url', 'status']), from: z.string(), to: z.string() }),
          z.object({ member: z.literal('secret') }),
        ]),
      )
      .readonly()
      .optional()
      .describe('of an update; the values of a secret are left out'),
    reason: z.string().optional().describe('why the subscription is deleted'),
  })
  .meta({ id: 'SubscriptionStep', description: 'The planned change of one subscription' });

const heldSchema = z
  .object({
    source: z.string(),
    subscription_id: z.string().nullable(),
    message_type: z.string(),
    status: z.string(),
    application: z.string(),
    ours: z.boolean(),
    url: z.string(),
  })
  .meta({ id: 'Subscription', description: 'A subscription in the cloud' });

/** The subscriptions and the plan of one source. */
export const sourceSchema = z.object({
  source: z.string(),
  compared_with: z
    .enum(['cloud', 'records'])
    .describe('records: the cloud does not list subscriptions, so the plan is based on local records'),
  in_order: z.boolean(),
  steps: z.array(stepSchema).readonly(),
  not_offered: z
    .array(z.string())
    .readonly()
    .describe('configured message types that this cloud does not offer'),
  held: z.array(heldSchema).readonly(),
});

/** The result of applying a plan. */
export const appliedSchema = z.object({
  outcomes: z
    .array(z.object({ step: stepSchema, error: z.string().nullable() }))
    .readonly()
    .describe('each attempted change; the error is null if the cloud accepted it'),
  unfinished: z
    .array(z.object({ step: stepSchema, reason: z.string() }))
    .readonly()
    .describe('changes that are still pending; empty if the cloud shows all of them'),
});

export type SourceView = z.input<typeof sourceSchema>;

export type AppliedView = z.input<typeof appliedSchema>;
