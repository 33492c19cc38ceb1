import { z } from 'zod';
// oxlint-disable-next-line no-restricted-imports -- domain.ts, which the pattern for other rooms also hits here
import { WEBHOOK_TYPES } from '../../domain.ts';
import { idSchema } from './shared.ts';

/** Whether the cloud sends the events of a subscription. */
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

/**
 * A subscription in the cloud, with its secret as clear text (published description and SDK; the specification shows only
 * the members of the request). Message type and status are plain text, because other applications may have subscriptions
 * of unknown kinds. The list has any of the `LIST_FORMS`, or is missing (specification).
 */
export const subscriptionSchema = z.looseObject({
  id: idSchema,
  application: z.string().nullish(),
  url: z.string().nullish(),
  secret: z.string().nullish(),
  message_type: z.string().nullish(),
  status: z.string().nullish(),
  data_type: z.string().nullish(),
  create_time: z.string().nullish(),
  update_time: z.string().nullish(),
});

export type Subscription = z.output<typeof subscriptionSchema>;
