import { z } from 'zod';
import { WEBHOOK_TYPES } from '../../src/events/domain.ts';

const SUBSCRIPTION_STATUSES = ['ENABLED', 'DISABLED'] as const;

/**
 * One webhook subscription as a subscriber requests it. `status` is not in the specification, but newer versions of the
 * service require it, so our client always sends it.
 */
const subscriptionRequestSchema = z.object({
  application: z.string().min(1),
  url: z.url({ protocol: /^https?$/ }),
  secret: z.string(),
  message_type: z.enum(WEBHOOK_TYPES),
  status: z.enum(SUBSCRIPTION_STATUSES).optional(),
});

export type SubscriptionRequest = z.output<typeof subscriptionRequestSchema>;

/** Body of `POST /subscriptions/webhook`, in all sources. The specification answers 200, the others 202 without a body. */
export const createSubscriptionsRequestSchema = z.array(subscriptionRequestSchema).min(1);

/**
 * Body of `PUT /subscriptions/webhook/{id}`, which the published description has since 25.2. The specification does not
 * show its members, so none is required; the published description requires all but the secret.
 */
export const updateSubscriptionRequestSchema = subscriptionRequestSchema.partial();
