import { z } from 'zod';

const action = z.enum(['create', 'update', 'delete', 'keep']);

/** A step of a plan. */
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
      .meta({ description: 'of an update; of a secret only that it differs' }),
    reason: z.string().optional().meta({ description: 'why it is deleted' }),
  })
  .meta({ id: 'SubscriptionStep', description: 'What is to be done about one subscription' });

/** A subscription that the cloud holds. */
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
  .meta({ id: 'Subscription', description: 'A subscription that the cloud holds' });

/** What there is and what is to be done, of one source. */
export const sourceSchema = z.object({
  source: z.string(),
  compared_with: z.enum(['cloud', 'records']).meta({
    description: 'records: the cloud does not list subscriptions, so what was written down here',
  }),
  in_order: z.boolean(),
  steps: z.array(stepSchema).readonly(),
  held: z.array(heldSchema).readonly(),
});

/** What came of a plan. */
export const appliedSchema = z.object({
  outcomes: z
    .array(z.object({ step: stepSchema, error: z.string().nullable() }))
    .readonly()
    .meta({ description: 'each change that was tried; without an error the cloud has accepted it' }),
  unfinished: z
    .array(z.object({ step: stepSchema, reason: z.string() }))
    .readonly()
    .meta({
      description: 'what is still not as it should be; empty when all is done and the cloud shows it',
    }),
});

export type SourceView = z.input<typeof sourceSchema>;

export type AppliedView = z.input<typeof appliedSchema>;
